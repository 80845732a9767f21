package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// normalizeFlag makes _ and - the same in long flags.
func normalizeFlag(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}

// commandLine is a list of arguments and the command they name.
type commandLine struct {
	cmd *cobra.Command
	// args are the arguments in the form that pflag understands.
	args []string
	// extra is the word that stands where a command of the group cmd should.
	extra string
}

// rewriteArgs gives long flags with one dash their second one. pflag would
// read -out as the shorthand -o with the value "ut". It walks the words the
// way pflag does, so that values and what follows -- stay as they are, and
// also puts the names of aliases and Python's True and False right.
func rewriteArgs(root *cobra.Command, args []string) commandLine {
	if overview := subcommand(root, overviewName); overview != nil && beginsWithPath(root, overview, args) {
		line := rewriteFor(overview, args, false)
		line.args = append([]string{overviewName}, line.args...)
		return line
	}
	return rewriteFor(root, args, true)
}

// beginsWithPath reports whether the first word that is no flag, of those of overview, is a
// path and no command.
func beginsWithPath(root, overview *cobra.Command, args []string) bool {
	for i := 0; i < len(args); i++ {
		word := args[i]
		if len(word) < 2 || word[0] != '-' {
			known := word == "help" || strings.HasPrefix(word, "__") || subcommand(root, word) != nil
			return !known && isPath(word)
		}
		w := rewriteFlag(overview, word)
		if word == "--" || !w.known {
			return false
		}
		if w.takesNext || w.joins(args[i+1:]) {
			i++
		}
	}
	return false
}

// rewriteFor is rewriteArgs for the arguments behind a command, which may be those of a
// group that begin with one below it.
func rewriteFor(root *cobra.Command, args []string, inGroup bool) commandLine {
	line := commandLine{cmd: root, args: append([]string{}, args...)}
	unknown := false
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case word == "--":
			return line
		case len(word) > 1 && word[0] == '-':
			w := rewriteFlag(line.cmd, word)
			line.args[i] = w.text
			if w.joins(args[i+1:]) {
				// Python's option parsers take the value from the next word.
				line.args[i] += "=" + strings.ToLower(args[i+1])
				args = slices.Delete(slices.Clone(args), i+1, i+2)
				line.args = slices.Delete(line.args, i+1, i+2)
			}
			unknown = unknown || !w.known
			if w.takesNext || inGroup && !w.known && cobraSkipsNext(word) {
				i++
			}
		case inGroup:
			sub := subcommand(line.cmd, word)
			switch {
			case sub != nil:
				line.cmd = sub
			case word == cobra.ShellCompRequestCmd || word == cobra.ShellCompNoDescRequestCmd:
				// What follows is unfinished and cobra's to complete.
				return commandLine{cmd: root, args: append([]string{}, args...)}
			case !line.cmd.HasSubCommands() || takesArguments(line.cmd):
			case unknown:
				// The word may be the value of the unknown flag: cobra
				// reports the flag.
				return line
			default:
				line.extra = word
				return line
			}
			inGroup = sub != nil && line.cmd.HasSubCommands()
		}
	}
	return line
}

// takesArguments reports whether a command that has others below it also works
// by itself, on arguments.
func takesArguments(cmd *cobra.Command) bool {
	return cmd.Args != nil && cmd.Args(cmd, []string{"argument"}) == nil
}

// cobraSkipsNext reports whether cobra takes the word after an unknown flag
// for its value while it looks for the command.
func cobraSkipsNext(flag string) bool {
	return !strings.Contains(flag, "=") && (strings.HasPrefix(flag, "--") || len(flag) == 2)
}

// subcommand returns the command below cmd that word names, or nil.
func subcommand(cmd *cobra.Command, word string) *cobra.Command {
	for _, sub := range cmd.Commands() {
		if sub.Name() == word || sub.HasAlias(word) {
			return sub
		}
	}
	return nil
}

// flagWord is a word that holds flags.
type flagWord struct {
	text      string
	known     bool // whether the command has all its flags
	takesNext bool // whether the next word is a value
	// words are the values that the next word may be, of a long flag that may go without one.
	words []string
}

// joins reports whether the first of the words behind a flag is its value.
func (w *flagWord) joins(behind []string) bool {
	return len(behind) > 0 && slices.Contains(w.words, strings.ToLower(behind[0]))
}

// rewriteFlag rewrites one word that starts with a dash.
func rewriteFlag(cmd *cobra.Command, word string) flagWord {
	cmd.InitDefaultHelpFlag() // also merges the inherited flags into cmd.Flags
	name, value, hasValue := strings.Cut(word[1:], "=")
	name, double := strings.CutPrefix(name, "-")
	var f *pflag.Flag
	if double || len(name) > 1 {
		f = longFlag(cmd.Flags(), name)
	}
	switch {
	case f == nil && double:
		return flagWord{text: word}
	case f == nil:
		return shorthands(cmd.Flags(), word)
	}
	text := "--" + f.Name
	if hasValue {
		text += "=" + flagValue(f, value)
	}
	w := flagWord{text: text, known: true, takesNext: !hasValue && f.NoOptDefVal == ""}
	if !hasValue && f.NoOptDefVal != "" {
		w.words = []string{"true", "false"}
		if v, ok := f.Value.(interface{ values() []string }); ok {
			w.words = append(w.words, v.values()...)
		}
	}
	return w
}

// longFlag finds a flag by its name or an alias.
func longFlag(flags *pflag.FlagSet, name string) *pflag.Flag {
	if f := flags.Lookup(name); f != nil {
		return f
	}
	name = string(normalizeFlag(flags, name))
	var found *pflag.Flag
	flags.VisitAll(func(f *pflag.Flag) {
		for _, other := range f.Annotations[aliasKey] {
			if string(normalizeFlag(flags, other)) == name {
				found = f
			}
		}
	})
	return found
}

// flagValue returns value as pflag reads it: booleans may be spelled as in
// Python, in any case.
func flagValue(f *pflag.Flag, value string) string {
	if f.Value.Type() == "bool" && isBool(value) {
		return strings.ToLower(value)
	}
	return value
}

// isBool reports whether a word is true or false, in any letter case.
func isBool(word string) bool {
	return strings.EqualFold(word, "true") || strings.EqualFold(word, "false")
}

// shorthands reads a word of shorthands, which stays as it is.
func shorthands(flags *pflag.FlagSet, word string) flagWord {
	for i := 1; i < len(word); i++ {
		f := flags.ShorthandLookup(word[i : i+1])
		switch {
		case f == nil:
			return flagWord{text: word}
		case i+1 < len(word) && (word[i+1] == '=' || f.NoOptDefVal == ""):
			return flagWord{text: word, known: true}
		case f.NoOptDefVal == "":
			return flagWord{text: word, known: true, takesNext: true}
		}
	}
	return flagWord{text: word, known: true}
}
