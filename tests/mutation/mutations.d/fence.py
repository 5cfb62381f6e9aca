# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What keeps a NIC from memory that its driver wants back (INV-31)."""
MUTATIONS = (
    ("firmware/nic.c", "nic->state != UNIC_NIC_READY ||\n\t\t     unic_mbox_fence(&nic->mbox)",
     "nic->state != UNIC_NIC_READY",
     "fence: a round begins without a look at it", "test_nic"),
    ("firmware/nic.c", "if (unic_dma_busy(&nic->transport) || unic_mbox_said(&nic->base, value))",
     "if (unic_mbox_said(&nic->base, value))",
     "fence: it is answered while DMA is under way", "test_nic"),
    ("firmware/nic.c", "\tnic->state = UNIC_NIC_RESET;\n\tif (unic_dma_busy(&nic->transport) || unic_mbox_said",
     "\tif (unic_dma_busy(&nic->transport) || unic_mbox_said",
     "fence: it holds only as long as the word", "test_nic"),
    ("host_driver/core/provider/provider_nic.c", "\tn->plugged = false; /* no further reset */\n", "",
     "fence: a NIC that does not answer is reset, and the word with it", "test_driver_region"),
    ("host_driver/core/provider/provider_nic.c", "!unic_from_le32(UNIC_LOAD(info_page(n)->magic));",
     "!has_info_magic(n);",
     "fence: what is not there at all is gone", "test_driver_region"),
    ("host_driver/core/provider/mailbox_client.c", "\tUNIC_STORE(page->fence, unic_to_le32(0));\n", "",
     "fence: it is left for the next driver", "test_driver_region"),
    ("firmware/nic.c", " || unic_mbox_said(&nic->base, value)", "",
     "fence: it is answered in each round", "test_nic"),
)
