# SPDX-License-Identifier: BSD-2-Clause
# Completion of knsec3hash for fish: its options; salts and numbers can't be known.
complete -c knsec3hash -f
complete -c knsec3hash -s h -l help
complete -c knsec3hash -s V -l version
