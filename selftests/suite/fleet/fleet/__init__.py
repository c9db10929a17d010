# SPDX-License-Identifier: GPL-2.0
"""What the tests of ipcuckood share: the daemon, a server that lies, a naive reference"""
