/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cost.h - what calls of an interface cost: instructions of user mode, counted one by one, and
 * time. The interfaces are libunic (cost_unic.c) and libibverbs (cost_verbs.c); what is measured
 * of them is the same.
 */
#ifndef COST_H
#define COST_H

/* The calls of an interface. Each ends the program with a message if it fails. */
struct cost_calls {
	/* opens the NIC, connects a queue pair with itself, registers a buffer */
	void (*open)(const char *socket);
	void (*post)(void); /* one WRITE of 8 bytes, with a completion */
	void (*poll)(void); /* takes one completion, which is there */
	void (*reg)(void);  /* registers 4 KiB of the buffer, and ends that */
};

/** cost_main() - measures @calls, in a process of its own, and prints one JSON object:
 * post, poll (instructions), reg_ns. Returns the exit code of the program. */
int cost_main(const struct cost_calls *calls, const char *socket);

/** cost_check() - ends the program if @good is 0: @what failed, because of @why. */
void cost_check(int good, const char *what, const char *why);

#endif /* COST_H */
