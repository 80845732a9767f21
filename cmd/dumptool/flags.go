package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// cmdFlag is a flag of a command: the option that it writes, and all that help, files of
// settings, shards and the shell have to know of it.
type cmdFlag struct {
	// names are the long name, a shorthand of one letter, and the other long names that
	// older scripts use, with | between them.
	names string
	value pflag.Value
	usage string
	in    group
	is    property
}

// group is the title of a part of a help text.
type group string

// The groups.
const (
	choosing  group = "Choose"
	pairing   group = "Pair"
	facts     group = "Better facts"
	judging   group = "Judge"
	reporting group = "Report"
	ci        group = "CI"
	closer    group = "Look closer"
	more      group = "More"
	global    group = "Global flags"
	storage   group = "Flags of object storage (s3://bucket/key)"
)

// groups are all of them in the order of a help text.
var groups = []group{choosing, pairing, facts, judging, reporting, ci, closer, more, global, storage}

// property is a set of what is true of a flag.
type property uint64

// The properties. A flag that is of nothing is of reports.
const (
	// safe flags may be set by a dumptool.yaml in the working folder, though it may have
	// come with the dumps. Such are numbers, names of a fixed set, names of operators and
	// patterns of them, and switches that only choose what is looked at and how it is
	// shown. No flag is that names a file or a server, lets anything be run, written,
	// replaced or removed, or is there to keep a finding from the exit status.
	safe property = 1 << iota
	// What a flag has a say in, for documents of shards.
	ofRow
	ofRound
	ofTransport
	// place flags name a place, which may be another one on another machine.
	place
	// rare flags stand in the help that has all flags only.
	rare
	// hidden flags are older spellings, which work and which help does not list.
	hidden
	// inReport flags can be written as keys of --report.
	inReport
	// The topics of help that list a flag.
	onLimits
	onOrder
	onLayouts
	onShards
	onHPAA
	onMsaccucmp
	// noSetting flags cannot be set by the environment and files.
	noSetting
)

// The keys of annotations of flags.
const (
	aliasKey    = "dumptool_alias"
	groupKey    = "dumptool_group"
	propertyKey = "dumptool_property"
)

// has reports whether a flag has one of some properties.
func has(f *pflag.Flag, one property) bool { return propertiesOf(f)&one != 0 }

func propertiesOf(f *pflag.Flag) property {
	var bits uint64
	if is := f.Annotations[propertyKey]; len(is) > 0 {
		bits, _ = strconv.ParseUint(is[0], 10, 64) // of annotate
	}
	return property(bits)
}

// annotate adds properties to a flag.
func annotate(f *pflag.Flag, is property) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[propertyKey] = []string{strconv.FormatUint(uint64(propertiesOf(f)|is), 10)}
}

// define gives a command flags.
func define(cmd *cobra.Command, all ...cmdFlag) { defineIn(cmd, cmd.Flags(), all...) }

// defineIn adds flags to a set of those of a command.
func defineIn(cmd *cobra.Command, flags *pflag.FlagSet, all ...cmdFlag) {
	for _, d := range all {
		names := strings.Split(d.names, "|")
		f := &pflag.Flag{Name: names[0], Usage: d.usage, Value: d.value, DefValue: d.value.String(), Hidden: d.is&hidden != 0}
		names = names[1:]
		if len(names) > 0 && len(names[0]) == 1 {
			f.Shorthand, names = names[0], names[1:]
		}
		if d.value.Type() == "bool" {
			f.NoOptDefVal = "true"
		}
		annotate(f, d.is)
		f.Annotations[aliasKey], f.Annotations[groupKey] = names, []string{string(d.in)}
		flags.AddFlag(f)
		if v, ok := d.value.(interface{ values() []string }); ok && len(v.values()) > 0 {
			completeValues(cmd, f.Name, v.values())
		}
	}
}

// harmless says that a dumptool.yaml in the working folder may set the flags.
func harmless(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		annotate(flags.Lookup(name), safe)
	}
}

// completeValues lets the shell complete a flag with one of values.
func completeValues(cmd *cobra.Command, flag string, values []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err)
	}
}
