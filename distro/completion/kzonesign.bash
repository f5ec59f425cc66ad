# SPDX-License-Identifier: BSD-2-Clause
# Completion of kzonesign for bash: its options, and files and folders behind those that take one.
_kzonesign() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	COMPREPLY=()
	if [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(kzonesign -h 2>/dev/null | grep -oE -- '--[a-z-]+')" -- "$current")
		return
	fi
	case $previous in
	-c | --config | -C | --confdb | -o | --outdir)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		;;
	esac
}
complete -F _kzonesign kzonesign
