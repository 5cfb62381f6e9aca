# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# Completion for the programs of unic in bash. It asks the program itself, by --help: so it
# knows the options, commands and choices of the version that is installed.

# The help of $1, as one line an option or command.
_unic_help()
{
	LC_ALL=C "$1" --help 2> /dev/null
}

# The long options of $1.
_unic_options()
{
	_unic_help "$1" | grep -oE -- '^ +(-., )? *--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+'
}

# The values of option $2 of $1, where the help lists them (--mode=rdma|rpc); else files.
_unic_values()
{
	local choices

	choices=$(_unic_help "$1" | grep -oE -- "$2=[a-z0-9]+(\|[a-z0-9]+)+" | head -1)
	if [ -n "$choices" ]; then
		tr '|' '\n' <<< "${choices#*=}"
	else
		compgen -f -- "$3"
	fi
}

# The commands of $1: those under "Commands:", or of the lines "  $1 COMMAND ...".
_unic_commands()
{
	_unic_help "$1" | sed -nE '/^Commands:/,$ { /^  [a-z]/ { s/^  (([a-z-]+, )*[a-z-]+).*/\1/; s/, /\n/g; p } }'
	_unic_help "$1" | sed -nE "s/^  ${1##*/} ([a-z]+) .*/\1/p"
}

# The choices of an argument of command $2 of $1, as in "fault crash | drop-rx N".
_unic_arguments()
{
	_unic_help "$1" | sed -nE "/^Commands:/,\$ { s/   .*//; s/^  $2 (.*\|.*)/\1/p }" | tr '|' '\n' |
		grep -oE '^ *[a-z][a-z-]+'
}

_unic()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local words='' i command=''

	[ "$prev" = = ] && prev=${COMP_WORDS[COMP_CWORD - 2]}
	[ "$cur" = = ] && prev=${COMP_WORDS[COMP_CWORD - 1]} && cur=''
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-* | =) ;;
		*) [ -n "$command" ] || command=${COMP_WORDS[i]} ;;
		esac
	done
	if [[ $prev == --* ]] && _unic_help "$1" | grep -qE -- "$prev="; then
		words=$(_unic_values "$1" "$prev" "$cur")
	elif [[ $cur == -* ]]; then
		words=$(_unic_options "$1")
	elif [ -z "$command" ]; then
		words=$(_unic_commands "$1")
		[ -n "$words" ] || words=$(compgen -f -- "$cur")
	else
		words=$(_unic_arguments "$1" "$command")
		[ -n "$words" ] || words=$(compgen -f -- "$cur")
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -o filenames -F _unic unicctl unicd unic-bus unic-copy unic-hog unic-ping unic-perf unic-kio unic-nic \
	unic-policysim unic-uart unic-wire
# Behind the options of unic-run comes any command.
_unic_run()
{
	local i

	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i - 1]}:${COMP_WORDS[i]} in
		*:-* | --board:* | --net:* | --device:* | -b:* | -n:* | -d:* | =:* | *:=) ;;
		*)
			declare -F _command_offset > /dev/null && _command_offset "$i"
			return
			;;
		esac
	done
	if [[ ${COMP_WORDS[COMP_CWORD]} == -* ]]; then
		_unic "$@"
	else
		mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}" | sort -u)
	fi
}
complete -F _unic_run unic-run
