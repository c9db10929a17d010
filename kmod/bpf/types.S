/* SPDX-License-Identifier: GPL-2.0-only */
/* The type information of the module, which types.sh has made: empty if it could not. modpost wants
 * it in a section that is loaded.
 */
	.section .BTF, "a"
	.incbin IPCUCKOO_TYPES
