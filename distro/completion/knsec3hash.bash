# SPDX-License-Identifier: BSD-2-Clause
# Completion of knsec3hash for bash: its options; salts and numbers can't be known.
_knsec3hash() {
	COMPREPLY=()
	if [[ ${COMP_WORDS[COMP_CWORD]} == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '--help --version' -- "${COMP_WORDS[COMP_CWORD]}")
	fi
}
complete -F _knsec3hash knsec3hash
