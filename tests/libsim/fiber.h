/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fiber.h - threads of simulated processes, as fibers (ucontext) on one real thread.
 *
 * Secret: who runs next. A fiber runs until it blocks; every system call may be a
 * pause, by the seed. Each fiber is resumed by an event of sim.h, with what threads
 * have of their own: errno and thread-local variables.
 */
#ifndef LIBSIM_FIBER_H
#define LIBSIM_FIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIBER_ALWAYS UINT64_MAX /* until it is woken */

struct process;

/** fiber_reset() - forget all fibers, at the start of a run. */
void fiber_reset(void);
/** fiber_start() - start a thread of @p, which runs @start(@arg). Returns its number,
 * never 0. */
uint32_t fiber_start(struct process *p, void *(*start)(void *arg), void *arg);
/** fiber_detach() - nobody will join thread @number. */
void fiber_detach(uint32_t number);
/** fiber_join() - wait until thread @number of the process has ended. */
void fiber_join(uint32_t number);
/** fiber_kill() - drop all threads of @p; none of them runs. */
void fiber_kill(struct process *p);
/** fiber_count() - threads of @p that have not ended. */
uint32_t fiber_count(const struct process *p);

/** fiber_number() - of the thread that runs. fiber_process() - its process. */
uint32_t fiber_number(void);
struct process *fiber_process(void);
/** fiber_block() - sleep until fiber_wake() names @on, or until @until_ns of virtual
 * time. Returns whether it was woken. */
bool fiber_block(const void *on, uint64_t until_ns);
/** fiber_wake() - wake those of @p that sleep on @on, or one of them, by the seed. */
void fiber_wake(struct process *p, const void *on, bool all);
/** fiber_sleeps() - does a thread of @p sleep on @on? */
bool fiber_sleeps(const struct process *p, const void *on);
/** fiber_pause() - let @ns of virtual time pass. */
void fiber_pause(uint64_t ns);
/** fiber_step() - a system call begins: others may run first, by the seed. */
void fiber_step(void);
/** fiber_say() - log what each thread of @p waits for. */
void fiber_say(const struct process *p);

#endif /* LIBSIM_FIBER_H */
