# SPDX-License-Identifier: BSD-2-Clause
"""What all Python tests share: the daemon under test, network namespaces, raw DNS messages."""
