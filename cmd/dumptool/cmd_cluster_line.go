package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// innerLine is the command line of a command that is to work in shards.
type innerLine struct {
	name   string // of the command, such as overflow scan
	values []innerValue
	args   []string
}

// innerValue is a flag of the line and its value.
type innerValue struct {
	flag *pflag.Flag
	text string
}

// parseLine takes a command line apart.
func (a *app) parseLine(args []string) (*innerLine, error) {
	if len(args) == 0 {
		return nil, usagef("no command given: -- %s ... is needed", strings.Join(shardCommands, "|"))
	}
	root := newRootCommand(newApp(a.streams))
	rewritten := rewriteArgs(root, args)
	if rewritten.extra != "" {
		return nil, unknownCommand(rewritten.cmd, rewritten.extra)
	}
	cmd, rest, err := root.Find(rewritten.args)
	if err != nil {
		return nil, asUsage(err)
	}
	l := &innerLine{name: strings.Join(commandPath(cmd), " ")}
	if !slices.Contains(shardCommands, l.name) {
		return nil, usagef("%q does not work in shards: want one of %s", strings.Join(args, " "), strings.Join(shardCommands, ", "))
	}
	cmd.InitDefaultHelpFlag()
	cmd.InheritedFlags() // makes them flags of cmd
	err = cmd.Flags().ParseAll(rest, func(f *pflag.Flag, value string) error {
		l.values = append(l.values, innerValue{f, value})
		return f.Value.Set(value)
	})
	if err != nil {
		return nil, usagef("%s: %w", l.name, err)
	}
	if l.given(helpFlag) {
		return nil, usagef("see 'dumptool %s --help' for the command itself", l.name)
	}
	l.args = cmd.Flags().Args()
	return l, nil
}

// inherit adds the flags of all commands that cmd has, in front of those of the line.
func (l *innerLine) inherit(cmd *cobra.Command) {
	var values []innerValue
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Changed {
			return
		}
		for _, text := range valuesOf(f) {
			values = append(values, innerValue{f, text})
		}
	})
	l.values = append(values, l.values...)
}

// given reports whether the line has a flag.
func (l *innerLine) given(name string) bool {
	return slices.ContainsFunc(l.values, func(v innerValue) bool { return v.flag.Name == name })
}

// out is the last value of --out, empty for none.
func (l *innerLine) out() string {
	text := ""
	for _, v := range l.values {
		if v.flag.Name == "out" {
			text = v.text
		}
	}
	return text
}

// inputs are the paths that the line reads as runs, but for its arguments.
func (l *innerLine) inputs() (paths []string) {
	for _, v := range l.values {
		if slices.Contains([]string{"cpu", "npu", "dump-path"}, v.flag.Name) {
			paths = append(paths, v.text)
		}
	}
	return paths
}

// flags are the flags of the line that are wanted.
func (l *innerLine) flags(wanted func(*pflag.Flag) bool) []string {
	var words []string
	for _, v := range l.values {
		if wanted(v.flag) {
			words = append(words, "--"+v.flag.Name+"="+v.text)
		}
	}
	return words
}

// arguments are the words that are no flags.
func (l *innerLine) arguments() []string {
	if slices.ContainsFunc(l.args, func(arg string) bool { return strings.HasPrefix(arg, "-") }) {
		return append([]string{"--"}, l.args...)
	}
	return l.args
}
