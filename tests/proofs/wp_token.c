// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * wp_token.c - a token ends once (INV-9), and only who has its whole key, its
 * protection domain and no more bytes than it allows gets it.
 */
#include "nic.h"

#include "token_spec.h"

/* WP knows assignments better than bytes. */
#include <string.h>
#define memset(p, c, n) (*(p) = (__typeof__(*(p))){ 0 })
#include "memory/token.c"
#include "memory/token_alloc.c"
