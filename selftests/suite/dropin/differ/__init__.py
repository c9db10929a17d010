# SPDX-License-Identifier: GPL-2.0
"""Runs the same commands on the kernel's own hash:ip and hash:net and on ours, and compares."""
