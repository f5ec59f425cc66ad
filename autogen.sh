#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Make ./configure from a git checkout.
set -e
cd "$(dirname "$0")"
mkdir -p m4 build-aux
exec autoreconf --force --install --warnings=all
