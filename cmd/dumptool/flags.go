package main

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/find"
	"dumptool/internal/lang"
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
)

// cmdFlag is a flag of a command: the option that it writes, and all that help, files of
// settings, shards and the shell have to know of it.
type cmdFlag struct {
	// names are the long name, a shorthand of one letter, and the other long names that
	// older scripts use, with | between them.
	names string
	value pflag.Value
	// The usages name the value alike; what is left out in brief stands behind a semicolon.
	usage, chinese string
	in             group
	is             property
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
	// inProfile flags can be written as keys of the file of --profile.
	inProfile
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
	valuesKey   = "dumptool_values"
	// The annotation of a flag with its usage in Chinese, of a command with its summary.
	chineseKey = "dumptool_chinese"
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
func define(cmd *cobra.Command, all ...cmdFlag) { defineIn(cmd.Flags(), all...) }

// defineIn adds flags to a set.
func defineIn(flags *pflag.FlagSet, all ...cmdFlag) {
	for _, d := range all {
		names := strings.Split(d.names, "|")
		f := &pflag.Flag{Name: names[0], Usage: d.usage, Value: d.value, DefValue: d.value.String(), Hidden: d.is&hidden != 0}
		names = names[1:]
		if len(names) > 0 && len(names[0]) == 1 {
			f.Shorthand, names = names[0], names[1:]
		}
		if v, ok := d.value.(interface{ without() string }); ok {
			f.NoOptDefVal = v.without()
		}
		annotate(f, d.is)
		f.Annotations[aliasKey], f.Annotations[groupKey], f.Annotations[chineseKey] = names, []string{string(d.in)}, []string{d.chinese}
		flags.AddFlag(f)
		if v, ok := d.value.(interface{ values() []string }); ok && len(v.values()) > 0 {
			completeValues(f, v.values())
		}
	}
}

// Flags that several commands have mean the same in all of them. They stand here,
// and those for the formats of reports in formats.go.

// pathFlag is the usual spelling of the arguments.
func pathFlag(to *[]string, usage, chinese string) cmdFlag {
	return cmdFlag{"dump-path|d|dump-file", texts(to), usage, chinese, choosing, ofTransport}
}

// morePaths is another spelling of the arguments.
func morePaths(to *[]string) cmdFlag {
	f := pathFlag(to, "another spelling of the argument `PATH`", "位置参数 `PATH` 的另一种写法")
	f.is |= rare
	return f
}

// roundFlags choose rounds by their coordinates.
func roundFlags(to *dumpdir.Selection) []cmdFlag {
	return []cmdFlag{
		{"rank", rounds(&to.Rank, dumpdir.ParseNumbers), "only these `RANKS`, such as 0|3-5|10; devices are ranks", "只取这些 `RANKS`，例如 0|3-5|10；设备即 rank", choosing, safe | ofRound},
		{"step|iteration", rounds(&to.Step, dumpdir.ParseNumbers), "only these `STEPS`, such as 0|3-5|10; iterations are steps", "只取这些 `STEPS`，例如 0|3-5|10；迭代即 step", choosing, safe | ofRound},
		{"graph", rounds(&to.Graph, dumpdir.ParseNumbers), "only graphs, or models, of these `IDS`", "只取编号为 `IDS` 的图或模型", choosing, safe | ofRound | rare},
		{"model|net", rounds(&to.Model, dumpdir.ParseNames), "only networks or models of these `NAMES`, with | between them", "只取名称为 `NAMES` 的网络或模型，以 | 分隔", choosing, safe | ofRound | rare},
	}
}

// sideFlags choose rounds of both runs, and of one.
func sideFlags(ref, npu *dumpdir.Selection) (all []cmdFlag) {
	ofRef, ofNPU := roundFlags(ref), roundFlags(npu)
	for i, both := range roundFlags(new(dumpdir.Selection)) {
		name, _, _ := strings.Cut(both.names, "|")
		both.value = bothSides(ofRef[i].value.(*value[dumpdir.Choice]), ofNPU[i].value.(*value[dumpdir.Choice]))
		both.usage, both.chinese = both.usage+"; REF:NPU for each side", both.chinese+"；REF:NPU 分别指定两侧"
		all = append(all, both,
			cmdFlag{"ref-" + name, ofRef[i].value, "--" + name + " for the reference only", "", choosing, safe | ofRound | hidden},
			cmdFlag{"npu-" + name, ofNPU[i].value, "--" + name + " for the NPU data only", "", choosing, safe | ofRound | hidden})
	}
	return all
}

// opsFlag chooses operators of runs, as readOps reads them.
func opsFlag(to *[]string) cmdFlag {
	return cmdFlag{"ops", texts(to), "only operators of these `NAMES`; with commas between them, or re:PATTERN, or @file with one a line", "只取名称为 `NAMES` 的算子；以逗号分隔，或 re:PATTERN，或 @file(每行一个)", choosing, safe | ofRow}
}

// readOps makes a set of the operators of --ops, and of more; nil for all.
func readOps(texts []string, more ...string) (*dumpdir.NameSet, error) {
	var lists []string
	for _, text := range texts {
		path, isFile := strings.CutPrefix(text, "@")
		if !isFile {
			lists = append(lists, text)
			continue
		}
		in, err := (&sidefile.Files{Ops: path}).Load()
		if problem, ok := errors.AsType[*sidefile.FileError](err); ok {
			problem.Given = false // it is no --ops-from
			return nil, configError(lang.Errorf("--ops: %w", problem))
		}
		more = append(more, in.Ops...)
	}
	set, err := namesOf(lists, more...)
	if err != nil {
		return nil, usagef("--ops: %w", err)
	}
	return set, nil
}

// findFlag chooses dumps by what find finds.
func findFlag(query *string) cmdFlag {
	return cmdFlag{"find", text(query), "only the dumps of what `QUERY` finds, as dumptool find does: resnet.py:88", "只取 `QUERY` 找到的 dump，如 dumptool find：resnet.py:88", choosing, ofRow}
}

// found are the dumps below paths that --find chooses, by their absolute paths; nil for
// all.
func (a *app) found(ctx context.Context, query string, opt find.Options) (map[string]bool, error) {
	if query == "" {
		return nil, nil
	}
	q, err := find.ParseQuery(query, find.Auto)
	if err != nil {
		return nil, usagef("--find: %v", err)
	}
	answer, err := find.Run(ctx, q, opt)
	switch {
	case find.IsUsage(err):
		return nil, asUsage(err)
	case err != nil:
		return nil, err
	}
	return answer.Chosen(), a.conclude(answer.ChosenOutcome())
}

// irFlag is for graphs of MindSpore.
func irFlag(to *string) cmdFlag {
	return cmdFlag{"ir", text(to), "graph of MindSpore in `PATH`, or folder of graphs, in place of those in the run; off: none", "用 `PATH` 中的 MindSpore 图(或图的目录)代替运行中的图；off：不用图", facts, ofRow}
}

// checkIR checks the flag for graphs of MindSpore.
func checkIR(ir string) error {
	if ir == "" || ir == dumpdir.NoIR {
		return nil
	}
	if _, err := store.Stat(ir); err != nil {
		return usagef("--ir: %v", err)
	}
	return nil
}

// jobsFlag is the number of workers.
func jobsFlag(to *int, usage, chinese string) cmdFlag {
	return cmdFlag{"jobs|j|max-cores", whole(to, 0, 1<<20, "want at least 1, or 0 for one per CPU"), usage, chinese, more, safe | ofTransport | rare}
}

// readersFlag is jobsFlag for files that are only read.
func readersFlag(to *int) cmdFlag {
	return jobsFlag(to, "`N` files read at a time; default: one per CPU", "同时读取 `N` 个文件；默认每个 CPU 一个")
}

// containerFlag is the container of the dumps.
func containerFlag(to *int) cmdFlag {
	return cmdFlag{"version|v", whole(to, 0, 2, "want 1 or 2"), "dump container `1|2`: protobuf or binary; default: as the file says", "dump 的容器 `1|2`：protobuf 或二进制；默认按文件内容", choosing, safe | ofRow | rare}
}

// nodeFlags are those of HPAA's scripts that give operators other names and leave some
// out.
func nodeFlags(nameMap *string, skipKeys *[]string, exclude **dumpdir.NameSet) []cmdFlag {
	return append(skipFlags(skipKeys, exclude, pairing), cmdFlag{"map-node-dict", text(nameMap), "`TEXT` of names that differ; such as '{\"cpu_name\":\"npu_name\"}', or a file; FILE.yaml is a mapping of msprobe: data, cell, layer or API", "两侧不同的名称 `TEXT`；例如 '{\"cpu_name\":\"npu_name\"}'，或文件；FILE.yaml 是 msprobe 的映射：data、cell、layer 或 API", pairing, place | onHPAA})
}

// skipFlags are those of nodeFlags that leave operators out.
func skipFlags(skipKeys *[]string, exclude **dumpdir.NameSet, in group) []cmdFlag {
	return []cmdFlag{
		{"skip-keys", nameLists(skipKeys), "skip operators whose name contains one of `KEYS`, with commas between them", "跳过名称含 `KEYS` 之一的算子，以逗号分隔", in, safe | ofRow | rare | onHPAA},
		{"exclude-node-list", nameSet(exclude), "skip operators of these `NAMES`, or re:PATTERN", "跳过名称为 `NAMES` 的算子，或 re:PATTERN", in, safe | ofRow | rare | onHPAA},
	}
}

// readNameMap reads the names of --map-node-dict.
func readNameMap(text string) (*sidefile.NameMap, error) {
	files, err := (&sidefile.Files{NameMap: text}).Load()
	if err != nil {
		return nil, compareError(err)
	}
	return files.NameMap, nil
}

// outFlag is the place of the output.
func outFlag(out *string, usage, chinese string) cmdFlag {
	return cmdFlag{"out|output|output-dir", text(out), usage, chinese, reporting, ofTransport}
}

// exitZero keeps what was found from the exit status.
type exitZero bool

func (z *exitZero) flag(found, chinese string) cmdFlag {
	return cmdFlag{"exit-zero", yes((*bool)(z)), found + " do not change the exit status", chinese + "不影响退出码", ci, 0}
}

// of is an outcome as the flag wants it.
func (z exitZero) of(o batch.Outcome) batch.Outcome {
	if !z || o.Kind != batch.Found {
		return o
	}
	if !o.Shown {
		o.Messages = append(o.Messages, batch.Infof("%s", "%s", o.Text))
	}
	return batch.Outcome{Messages: o.Messages}
}

// jsonFlag asks for JSON in place of text.
type jsonFlag bool

func (j *jsonFlag) flag(usage, chinese string) cmdFlag {
	return cmdFlag{"json", yes((*bool)(j)), usage, chinese, reporting, safe}
}

// format is the name of the format.
func (j jsonFlag) format() string {
	if j {
		return "json"
	}
	return "text"
}
