package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newHelpCommand replaces cobra's own, which calls an unknown topic a success.
func newHelpCommand(a *app) *cobra.Command {
	var list strings.Builder
	for _, t := range topics {
		fmt.Fprintf(&list, "  %-10s %s\n", t.name, t.about)
	}
	return &cobra.Command{
		Use:   "help [COMMAND]...|TOPIC",
		Short: "print the help of a command, or about a topic",
		Long: `help prints the help of a command, like COMMAND --help, or what there is to know about
a topic and which flags serve it:

` + list.String() + exitStatus(),
		Args:        cobra.ArbitraryArgs,
		Annotations: withoutSettings(),
		RunE:        func(cmd *cobra.Command, args []string) error { return runHelp(a, cmd.Root(), args) },
	}
}

// runHelp prints the help of the command or topic that words name.
func runHelp(a *app, root *cobra.Command, words []string) error {
	if len(words) == 1 {
		if i := slices.IndexFunc(topics, func(t topic) bool { return t.name == words[0] }); i >= 0 {
			a.printTopic(root, &topics[i])
			return nil
		}
	}
	cmd := root
	for _, word := range words {
		sub := subcommand(cmd, word)
		if sub == nil {
			return unknownCommand(cmd, word)
		}
		cmd = sub
	}
	cmd.InitDefaultHelpFlag()
	return cmd.Help()
}

// topic is something that several flags serve.
type topic struct {
	name, about string
	flags       property
	text        string
}

// topics are all of them. A flag says to which it belongs.
var topics = []topic{
	{"limits", "when a tensor fails", onLimits, `By default a tensor fails by evidence of a fault: its operator adds an error that
neither rounding nor the errors of its inputs explain. Limits decide instead where any
are given: by flags, by another profile than hpaa, or for single operators by the file
of --op-config. An element is an error then unless |npu - cpu| <= atol + rtol*|cpu|.

Gates are limits on a metric of a whole tensor and hold in both ways. A metric that is
undefined breaks none, but for a mean relative error that is undefined because a
reference of zeros differs. --min-cos, --max-red, --max-mean-rel, --min-sqnr and
--max-ulp are other spellings of gates.`},
	{"order", "execution order, and which operator feeds which", onOrder, `The first bad operator is the first in execution order, and an error is followed from
operator to operator by who feeds whom. Both are found in what lies beside the dumps;
where that is not enough, files say it: an execution order, a map of consumers, a
graph of MindSpore, the graph of an offline model. Without any of them inputs are
joined with the outputs that have the same elements.`},
	{"layouts", "shapes, axis orders and element types", onLayouts, `Tensors in a layout of the device are brought to the shape and axis order of the
reference, which dumps and names of files say. These flags say it where they do not,
and what to do with shapes that do not fit.`},
	{"shards", "one run on many machines", onShards, `Each machine gets the whole command line and --shard I/N, or auto/N where a scheduler
says which I it is, and writes a document below the folder of -out. 'dumptool merge'
makes the reports of one run of them; it reads no tensors. 'dumptool cluster' prints
the jobs for Slurm, Kubernetes and Volcano.`},
	{"hpaa", "files and names of HPAA", onHPAA, `With $DUMP_MEMORY_PATH set, its folders cpu, npu and result are the two sides and the
place of the reports, where op_config.csv, node_runtime.file and
consumer_map_dict.file are read. cpu_vs_npu.csv has HPAA's columns and numbers.
'dumptool hpaa import' makes arrays of the raw pieces that the device leaves.`},
	{"msaccucmp", "how flags of msaccucmp are spelled here", onMsaccucmp, `Long flags work with one dash, and with _ for -. -m and -g are the two sides, -f the
fusion rules, -out the folder of the reports; --format msaccucmp writes its table,
'overflow analyze --compat' its summary. 'convert' has the flags of its shape
conversion: -d, -out, -f, -s, -o, -i, -t, -v, -c.`},
}

// printTopic prints a topic and the flags that serve it.
func (a *app) printTopic(root *cobra.Command, t *topic) {
	h := a.helpFor()
	set := pflag.NewFlagSet(t.name, pflag.ContinueOnError)
	set.SortFlags = false
	for _, sub := range root.Commands() {
		visitDefined(sub, func(f *pflag.Flag) {
			if has(f, t.flags) && !f.Hidden && set.Lookup(f.Name) == nil {
				set.AddFlag(f)
			}
		})
	}
	fmt.Fprintf(a.out, "%s\n\nFlags:\n%s", strings.TrimRight(h.wrap(t.text), "\n"), set.FlagUsagesWrapped(h.width))
}

// topicNames lists the topics.
func topicNames() string {
	var all []string
	for _, t := range topics {
		all = append(all, t.name)
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " or " + all[last]
}
