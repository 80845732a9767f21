package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/compare"
	"dumptool/internal/dumpdir"
	"dumptool/internal/sidefile"
)

// pairFlags are the flags about what is compared with what.
type pairFlags struct {
	nodeFlags
	fusion        string
	opsFrom, logs string
	round         string
	inputs, fuzzy bool
}

func (o *pairFlags) addFlags(flags *pflag.FlagSet) {
	o.nodeFlags.addFlags(flags)
	flags.StringVarP(&o.fusion, "fusion", "f", "", "fusion-rule `FILE`: the graph of the offline model as JSON, or as text (ge_proto_*.txt)")
	alias(flags, "fusion", "fusion-rule-file")
	flags.StringVar(&o.round, "round", "all", "of several rounds of one tensor compare `WHICH`: all, first, last, or a number from 0")
	flags.BoolVar(&o.fuzzy, "fuzzy", false, "pair calls of msprobe that have no partner by their order, whatever their numbers are")
	flags.BoolVar(&o.inputs, "inputs", false, "compare the inputs in dumps too; default: if the reference has inputs")
	harmless(flags, "round", "fuzzy", "inputs")
}

// addOps adds the flags for operators in a file, which stands beside that of their
// names, and for those that are not there.
func (o *pairFlags) addOps(flags *pflag.FlagSet) {
	flags.StringVar(&o.logs, "result", "", "folder `DIR` with the logs of 'hpaa import', which say why the NPU lacks tensors; default: that of the reports")
	flags.StringVar(&o.opsFrom, "ops-from", "", "only operators of the names in `FILE`, one a line")
}

// addFiles adds the side files of the flags.
func (o *pairFlags) addFiles(f *sidefile.Files) {
	f.NameMap, f.Fusion, f.Ops, f.Logs = o.nameMap, o.fusion, o.opsFrom, o.logs
}

// resolve reads the names that the flags and their files have; ops are the names of
// the operators that are chosen.
func (o *pairFlags) resolve(options *compare.Options, ops []string) error {
	opt := &options.Pair
	opt.Inputs, opt.Fuzzy = o.inputs, o.fuzzy
	var err error
	if opt.SkipKeys, opt.Exclude, err = o.left(); err != nil {
		return err
	}
	if opt.Ops, err = nameSet("--ops", ops, options.SideFiles.Ops); err != nil {
		return err
	}
	opt.Rounds, err = parseRounds(o.round)
	return err
}

// nameSet reads lists of names, and adds more; nil for none.
func nameSet(flag string, values, more []string) (*dumpdir.NameSet, error) {
	if len(values)+len(more) == 0 {
		return nil, nil
	}
	names, err := sidefile.ParseList(values...)
	if err != nil {
		return nil, usagef("%s: %w", flag, err)
	}
	set, err := dumpdir.NewNameSet(append(names, more...))
	if err != nil {
		return nil, usagef("%s: %w", flag, err)
	}
	return set, nil
}

// parseRounds reads which rounds are wanted.
func parseRounds(text string) (compare.Rounds, error) {
	switch strings.ToLower(text) {
	case "all", "":
		return compare.Rounds{}, nil
	case "first":
		return compare.Rounds{First: true}, nil
	case "last":
		return compare.Rounds{Last: true}, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return compare.Rounds{}, usagef("--round %s: want all, first, last or a number from 0", text)
	}
	return compare.Rounds{Number: &n}, nil
}

// orderFlags are the flags about the execution order and the graph.
type orderFlags struct {
	order       string
	runtimeFile string
	orderFile   string
	consumers   string
	ir          string
}

// orders are the sources of the execution order.
var orders = []string{"auto", "dump.json", "runtime", "csv", "ir", "fusion", "consumers", "statistics", "sequence", "timestamp", "id", "number", "name"}

func (o *orderFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.order, "order", "auto", "`SOURCE` of the execution order: "+strings.Join(orders[1:], ", ")+", or auto: the first there is")
	harmless(flags, "order")
	flags.StringVar(&o.runtimeFile, "node-runtime-filename", "", "times of operators in `FILE`, as HPAA's node_runtime.file")
	flags.StringVar(&o.orderFile, "order-file", "", "execution order in `FILE`, one operator a line, as MindSpore's ms_execution_order_graph_0.csv")
	completeValues(cmd, "order", orders)
}

// addConsumers adds the flag of the graph, which serves the diagnosis.
func (o *orderFlags) addConsumers(flags *pflag.FlagSet) {
	flags.StringVar(&o.consumers, "consumer-map", "", "inputs of operators in `FILE`, as HPAA's consumer_map_dict.file")
	alias(flags, "consumer-map", "consumer-map-filename")
	addIR(flags, &o.ir)
}

// addFiles adds the side files of the flags.
func (o *orderFlags) addFiles(f *sidefile.Files) {
	f.Runtime, f.Execution, f.Consumers = o.runtimeFile, o.orderFile, o.consumers
}

// resolve chooses the source of the execution order.
func (o *orderFlags) resolve(opt *compare.Options) error {
	opt.IR = o.ir
	if err := checkIR(o.ir); err != nil {
		return err
	}
	by, err := oneOf("--order", o.order, orders)
	if err != nil {
		return err
	}
	switch {
	case by == "auto" && o.runtimeFile != "": // a file that was given and knows no operator is a mistake
		opt.OrderBy = dumpdir.ByRuntime
	case by == "csv" || by == "auto" && o.orderFile != "":
		opt.OrderBy = dumpdir.ByExecution
	case by != "auto":
		opt.OrderBy = dumpdir.OrderBy(by)
	}
	switch {
	case by == "runtime" && opt.SideFiles.Runtime == nil:
		return usagef("--order runtime needs --node-runtime-filename FILE")
	case by == "csv" && opt.SideFiles.Execution == nil:
		return usagef("--order csv needs --order-file FILE")
	case by == "fusion" && opt.SideFiles.Fusion == nil:
		return usagef("--order fusion needs --fusion FILE")
	}
	return nil
}
