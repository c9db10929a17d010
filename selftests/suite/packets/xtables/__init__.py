# SPDX-License-Identifier: GPL-2.0
"""What the tests of rules of iptables share that refer to sets of ipcuckoo"""
