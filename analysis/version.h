/* The version of the analysis: results of another one are not read back. */
#ifndef PB_ANALYSIS_VERSION_H
#define PB_ANALYSIS_VERSION_H

/* "0.1.0+1f2e3d4c5b6a": the program's, and a digest of the sources that results depend on. */
const char *pb_analysis_version(void);

#endif
