/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* socket_option.h - the option --socket of the tools, which names their driver. */
#ifndef SOCKET_OPTION_H
#define SOCKET_OPTION_H

#include "unic_ctl.h"

#define SOCKET_OPTION                                       \
	{                                                   \
		"socket", 's', "PATH[,NIC]", 0,             \
			"Of unicd (default: $UNIC_SOCKET, " \
			"else " UNIC_CTL_SOCKET ")",        \
			0                                   \
	}

#endif /* SOCKET_OPTION_H */
