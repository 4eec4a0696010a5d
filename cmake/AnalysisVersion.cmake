# Writes OUTPUT, a header with the version of the analysis: that of the program, and a digest of the
# sources SOURCES, so that results of other sources are distinguished without a number kept by hand.
set(digests "")
foreach(source ${SOURCES})
    file(SHA256 ${source} digest)
    string(APPEND digests ${digest})
endforeach()
string(SHA256 digest "${digests}")
string(SUBSTRING ${digest} 0 12 digest)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define PLUMB_ANALYSIS_VERSION \"@VERSION@+@digest@\"\n" @ONLY)
