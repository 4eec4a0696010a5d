/* Processes of this PID namespace. */
#ifndef PB_CORE_PROCESS_H
#define PB_CORE_PROCESS_H

/*
 * Clock ticks between the boot and the start of a process, which distinguish it from a later one of
 * the same PID; -1: there is no such process, or only what its parent has not yet reaped of it.
 */
long long pb_process_born(long long pid);

#endif
