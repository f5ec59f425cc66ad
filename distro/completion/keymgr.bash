# SPDX-License-Identifier: BSD-2-Clause
# Completion of keymgr for bash: options, commands and attributes from its help, zones and keys from the key database that the words before lead to.
_keymgr() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} i
	local -a where=() arguments=()
	COMPREPLY=()
	case $previous in
	-c | --config | -C | --confdb | -D | --dir)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
		;;
	-t | --tsig | --until | --ds-after | --ds-ttl) return ;;
	esac
	if [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(keymgr -h 2>/dev/null | grep -oE -- '--[a-z-]+')" -- "$current")
		return
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-c | --config | -C | --confdb | -D | --dir)
			where=("${COMP_WORDS[i]}" "${COMP_WORDS[i + 1]}")
			i=$((i + 1))
			;;
		--until | --policy | --ds-after | --ds-ttl) i=$((i + 1)) ;;
		-*) ;;
		*) arguments+=("${COMP_WORDS[i]}") ;;
		esac
	done
	_keymgr_argument
}

# The next argument behind ${arguments[@]}.
_keymgr_argument() {
	local words='' files='' word
	case ${#arguments[@]}.${arguments[1]} in
	0.) words=$(keymgr -x "${where[@]}" -l 2>/dev/null) ;;
	1.) words=$(keymgr -h 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z0-9-]\{1,\}\) .*/\1/p') ;;
	2.list | 2.plan | 2.trash-list) words='human iso' ;;
	2.set | 2.delete | 2.ds | 2.dnskey) words=$(keymgr -x "${where[@]}" "${arguments[0]}" list 2>/dev/null | cut -d ' ' -f 1) ;;
	2.import-bind | 2.import-pub | 2.import-pem | 2.sign-ksr | 2.validate-skr | 2.import-skr) files=yes ;;
	2.import-trash | 2.trash-discard) words=$(keymgr -x "${where[@]}" "${arguments[0]}" trash-list 2>/dev/null | cut -d ' ' -f 1) ;;
	*.generate | *.set | *.import-pem | *.import-pkcs11 | *.import-trash)
		words=$(keymgr -h 2>/dev/null | sed -n '/^Key attributes:/,$p' | grep -oE '[a-z_-]+=( |$)')
		compopt -o nospace 2>/dev/null
		;;
	esac
	if [ -n "$files" ]; then
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
	else
		# Names are others' words: quoted, and never for compgen -W, which expands them.
		mapfile -t COMPREPLY < <(tr ' ' '\n' <<<"$words" | while IFS= read -r word; do [[ -z $word || $word != "$current"* ]] || printf '%q\n' "$word"; done)
	fi
}
complete -F _keymgr keymgr
