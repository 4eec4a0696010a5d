/*
 * Who may write a file: one owner at a time, on every file system, whatever becomes of the owner.
 *
 * The owner of NAME holds .NAME.owner-N in its folder: a few lines that say who it is,
 * placed by link(2), which is atomic on NFS, too. N grows by one with each owner that replaces one
 * that has ended, and the highest N is the owner. While it lives, a thread renews the file's time
 * every PB_CLAIM_BEAT_SECONDS. An owner has ended when
 *   - it was a process of this boot and PID namespace that is no more,
 *   - it belongs to an earlier start of this Slurm job, which Slurm has requeued since, or
 *   - it runs elsewhere and its file was not renewed for PB_CLAIM_SILENCE_SECONDS, by our clock.
 * An owner that was only stopped or cut off may come back, so it calls pb_claim_check() before it
 * replaces or removes anything.
 *
 * Limit: whoever writes the file without asking is not kept from it.
 */
#ifndef PB_CORE_CLAIM_H
#define PB_CORE_CLAIM_H

#include "core/error.h"

struct pb_claim;

enum { PB_CLAIM_BEAT_SECONDS = 2, PB_CLAIM_SILENCE_SECONDS = 15 };

/*
 * Makes this process the owner of `path`, which need not exist. program: for the one that is
 * refused. PB_EXISTS: it has a living owner; err says who. PB_INVALID: the folder cannot be
 * written.
 */
enum pb_status pb_claim_take(const char *path, const char *program, struct pb_claim **claim_out,
                             struct pb_error *err);

/* Still the owner? PB_EXISTS: not any more; err says who is. NULL is a claim on nothing: PB_OK. */
enum pb_status pb_claim_check(const struct pb_claim *claim, struct pb_error *err);

/* Gives it back; NULL is allowed. */
void pb_claim_release(struct pb_claim *claim);

#endif
