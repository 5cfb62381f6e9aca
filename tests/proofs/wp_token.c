// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * wp_token.c - a token ends once (INV-9), and only a message with its whole
 * key, its protection domain and no more bytes than it allows can claim it.
 */
#include "nic.h"

#include "token_spec.h"

/* WP proves more about an assignment than about memset(). */
#include <string.h>
#define memset(p, c, n) (*(p) = (__typeof__(*(p))){ 0 })
#include "memory/token.c"
#include "memory/token_alloc.c"
