# SPDX-License-Identifier: BSD-2-Clause
# Completion of kzonecheck for bash: its options, and files.
_kzonecheck() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	COMPREPLY=()
	if [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(kzonecheck -h 2>/dev/null | grep -oE -- '--[a-z-]+')" -- "$current")
		return
	fi
	case $previous in
	-d | --dnssec) mapfile -t COMPREPLY < <(compgen -W 'on off' -- "$current") ;;
	-o | --origin | -t | --time | -j | --jobs) ;;
	*)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		;;
	esac
}
complete -F _kzonecheck kzonecheck
