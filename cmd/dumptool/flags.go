package main

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/find"
	"dumptool/internal/lang"
	"dumptool/internal/ranks"
	"dumptool/internal/safefile"
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
)

// cmdFlag defines a flag of a command: its value, and what help, settings, shards and the shell
// need to know about it.
type cmdFlag struct {
	// names lists the long name, a shorthand of one letter, and further long names of older
	// scripts, separated by |.
	names string
	value pflag.Value
	// The Chinese usage, in the catalogue, names the value by the same word. Brief help ends a usage at the first
	// semicolon.
	usage   string
	section group
	levels  level
}

// group is the title of a section of a help text.
type group string

// Groups of flags.
const (
	groupChoice  group = "Choose"
	groupPairing group = "Pair"
	groupFacts   group = "Better facts"
	groupVerdict group = "Judge"
	groupReports group = "Report"
	groupCI      group = "CI"
	groupDetails group = "Look closer"
	groupMore    group = "More"
	groupGlobal  group = "Global flags"
	groupStorage group = "Flags of object storage (s3://bucket/key)"
)

// groups lists all groups in the order of a help text.
var groups = []group{groupChoice, groupPairing, groupFacts, groupVerdict, groupReports, groupCI, groupDetails, groupMore, groupGlobal, groupStorage}

// level says which help texts list a flag: a set of bits.
type level uint64

// Levels, and the topics of help that list a flag.
const (
	// rareLevel flags appear only in the whole help.
	rareLevel level = 1 << iota
	// hiddenLevel flags are older spellings: they work, but help does not list them.
	hiddenLevel
	topicLimits
	topicOrder
	topicLayouts
	topicShards
	topicHPAA
	topicMsaccucmp
)

// Keys of annotations of flags.
const (
	aliasKey  = "dumptool_alias"
	groupKey  = "dumptool_group"
	levelKey  = "dumptool_level"
	valuesKey = "dumptool_values"
	// The usage of a flag, and the lists that fill it.
	usageKey = "dumptool_usage"
)

// hasLevel reports whether a flag has any of some levels or topics.
func hasLevel(f *pflag.Flag, one level) bool {
	var bits uint64
	if is := f.Annotations[levelKey]; len(is) > 0 {
		bits, _ = strconv.ParseUint(is[0], 10, 64) // written by addFlagsTo
	}
	return level(bits)&one != 0
}

// groupOf returns the group of a flag, empty for flags of cobra.
func groupOf(f *pflag.Flag) group { return group(strings.Join(f.Annotations[groupKey], "")) }

// listBreak separates a usage from the lists that fill it.
const listBreak = "\x1f"

// fillUsage replaces the %s of a usage by lists.
func fillUsage(usage string, lists ...[]string) string {
	for _, list := range lists {
		usage += listBreak + strings.Join(list, ", ")
	}
	return usage
}

// usageText fills a usage with its lists.
func usageText(usage []string) string {
	text := usage[0]
	for _, list := range usage[1:] {
		text = strings.Replace(text, "%s", list, 1)
	}
	return text
}

// usageInChinese is the usage of a flag in Chinese. A list may be a text itself.
func usageInChinese(f *pflag.Flag) string {
	usage := slices.Clone(f.Annotations[usageKey])
	if len(usage) == 0 {
		return f.Usage
	}
	usage[0] = lang.Chinese(usage[0])
	for i, list := range usage[1:] {
		chinese, ok := lang.Lookup(list)
		if !ok || !strings.Contains(list, " ") { // a list may have one value
			chinese = strings.ReplaceAll(list, ", ", "、")
		}
		usage[i+1] = chinese
	}
	return usageText(usage)
}

// addFlags adds flags to a command.
func addFlags(cmd *cobra.Command, all ...cmdFlag) { addFlagsTo(cmd.Flags(), all...) }

// addFlagsTo adds flags to a set.
func addFlagsTo(flags *pflag.FlagSet, all ...cmdFlag) {
	for _, d := range all {
		names, usage := strings.Split(d.names, "|"), strings.Split(d.usage, listBreak)
		f := &pflag.Flag{Name: names[0], Usage: usageText(usage), Value: d.value, DefValue: d.value.String(), Hidden: d.levels&hiddenLevel != 0}
		names = names[1:]
		if len(names) > 0 && len(names[0]) == 1 {
			f.Shorthand, names = names[0], names[1:]
		}
		if v, ok := d.value.(interface{ defaultValue() string }); ok {
			f.NoOptDefVal = v.defaultValue()
		}
		f.Annotations = map[string][]string{levelKey: {strconv.FormatUint(uint64(d.levels), 10)}, aliasKey: names, groupKey: {string(d.section)}, usageKey: usage}
		if s, ok := d.value.(*spelling); ok {
			s.flags = flags
		}
		flags.AddFlag(f)
		if v, ok := d.value.(interface{ completions() []string }); ok && len(v.completions()) > 0 {
			completeValues(f, v.completions())
		}
	}
}

// Flags of several commands mean the same in all of them. They are defined here; the flags for
// report formats are in formats.go.

// pathFlag is the usual spelling of the arguments as a flag.
func pathFlag(to *[]string, usage string) cmdFlag {
	return cmdFlag{"dump-path|d|dump-file", textList(to), usage, groupChoice, 0}
}

// morePaths is another spelling of the arguments, listed as rare.
func morePaths(to *[]string) cmdFlag {
	f := pathFlag(to, "another spelling of the argument `PATH`")
	f.levels |= rareLevel
	return f
}

// roundFlags choose rounds by their coordinates.
func roundFlags(to *dumpdir.Selection) []cmdFlag {
	return []cmdFlag{
		{"rank", roundChoice(&to[dumpdir.ByRank], dumpdir.ParseNumbers), "only these `RANKS`, such as 0,3-5,10; devices are ranks", groupChoice, 0},
		{"step|iteration", roundChoice(&to[dumpdir.ByStep], dumpdir.ParseNumbers), "only these `STEPS`, such as 0,3-5,10; iterations are steps", groupChoice, 0},
		{"graph", roundChoice(&to[dumpdir.ByGraph], dumpdir.ParseNumbers), "only graphs, or models, of these `IDS`", groupChoice, rareLevel},
		{"model|net", roundChoice(&to[dumpdir.ByModel], dumpdir.ParseNames), "only networks or models of these `NAMES`, separated by |", groupChoice, rareLevel},
	}
}

// sideFlags choose rounds: of both runs with one flag, or of a single run.
func sideFlags(ref, npu *dumpdir.Selection) (all []cmdFlag) {
	ofRef, ofNPU := roundFlags(ref), roundFlags(npu)
	for i, both := range roundFlags(new(dumpdir.Selection)) {
		name, _, _ := strings.Cut(both.names, "|")
		both.value = newBothSides(ofRef[i].value.(*value[dumpdir.Choice]), ofNPU[i].value.(*value[dumpdir.Choice]))
		both.usage = fillUsage("%s; REF:NPU for each side", []string{both.usage})
		all = append(all, both,
			cmdFlag{"ref-" + name, ofRef[i].value, "--" + name + " for the reference only", groupChoice, hiddenLevel},
			cmdFlag{"npu-" + name, ofNPU[i].value, "--" + name + " for the NPU data only", groupChoice, hiddenLevel})
	}
	return all
}

// opsFlag chooses operators of runs; readOps reads its values.
func opsFlag(to *[]string) cmdFlag {
	return cmdFlag{"ops", textList(to), "only operators of these `NAMES`, separated by commas; * matches any characters, ? matches one; also re:PATTERN, or @file with one name per line", groupChoice, 0}
}

// readOps makes a set of the operators of --ops and more; nil for all.
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
			problem.Given = false // not from --ops-from
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

// findFlag chooses dumps by a query of dumptool find.
func findFlag(query *string) cmdFlag {
	return cmdFlag{"find", textValue(query), "only the dumps that 'dumptool find' returns for `QUERY`, such as resnet.py:88", groupChoice, 0}
}

// findDumps returns the dumps that --find chooses below paths, by absolute path; nil for all.
func (a *app) findDumps(ctx context.Context, query string, opt find.Options) (map[string]bool, error) {
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
	return answer.SelectedDumps(), a.conclude(answer.ChosenOutcome())
}

// irFlag names graphs of MindSpore.
func irFlag(to *string) cmdFlag {
	return cmdFlag{"ir", textValue(to), "graph of MindSpore in `PATH`, or folder of graphs, in place of the graphs of the run; off: none", groupFacts, 0}
}

// checkIR checks the value of --ir.
func checkIR(ir string) error {
	if ir == "" || ir == dumpdir.NoIR {
		return nil
	}
	if _, err := store.Stat(ir); err != nil {
		return usagef("--ir: %v", err)
	}
	return nil
}

// jobsFlag sets the number of workers.
func jobsFlag(to *int, usage string) cmdFlag {
	return cmdFlag{"jobs|j|max-cores", integerValue(to, 0, 1<<20, "want at least 1, or 0 for one per CPU"), usage, groupMore, rareLevel}
}

// readersFlag is jobsFlag for commands that only read files.
func readersFlag(to *int) cmdFlag {
	return jobsFlag(to, "`N` files read at a time; default: one per CPU")
}

// containerFlag sets the container version of the dumps.
func containerFlag(to *int) cmdFlag {
	return cmdFlag{"version|v", integerValue(to, 0, 2, "want 1 or 2"), "dump container `1|2`: protobuf or binary; default: from the file", groupChoice, rareLevel}
}

// nodeFlags are flags of HPAA's scripts: they rename operators and skip some.
func nodeFlags(nameMap *string, skipKeys *[]string, exclude **dumpdir.NameSet) []cmdFlag {
	return append(skipFlags(skipKeys, exclude, groupPairing), cmdFlag{"map-node-dict", textValue(nameMap), "`FILE` with pairs of names that differ; or its text, such as '{\"cpu_name\":\"npu_name\"}'; FILE.yaml is a mapping of msprobe: data, cell, layer or API", groupPairing, topicHPAA})
}

// skipFlags are the nodeFlags that skip operators.
func skipFlags(skipKeys *[]string, exclude **dumpdir.NameSet, in group) []cmdFlag {
	return []cmdFlag{
		{"skip-keys", nameLists(skipKeys), "skip operators whose name contains one of `KEYS`, separated by commas", in, rareLevel | topicHPAA},
		{"exclude-node-list", &list[*dumpdir.NameSet]{to: exclude, read: func(texts []string) (*dumpdir.NameSet, error) { return namesOf(texts) }}, "skip operators of these `NAMES`, or re:PATTERN", in, rareLevel | topicHPAA},
	}
}

// readNameMap reads the value of --map-node-dict.
func readNameMap(text string) (*sidefile.NameMap, error) {
	files, err := (&sidefile.Files{NameMap: text}).Load()
	if err != nil {
		return nil, compareError(err)
	}
	return files.NameMap, nil
}

// outFlag names the output.
func outFlag(out *string, usage string) cmdFlag {
	return cmdFlag{"out|output|output-dir", textValue(out), usage, groupReports, 0}
}

// exitZero: findings do not change the exit status.
type exitZero bool

func (z *exitZero) flag(usage string) cmdFlag {
	return cmdFlag{"exit-zero", boolSwitch((*bool)(z)), usage, groupCI, 0}
}

// applyTo applies the flag to an outcome.
func (z exitZero) applyTo(o batch.Outcome) batch.Outcome {
	if !z || o.Kind != batch.Found {
		return o
	}
	if !o.Shown {
		o.Messages = append(o.Messages, batch.Infof("%s", o.Text))
	}
	return batch.Outcome{Messages: o.Messages}
}

// jsonFlag asks for JSON instead of text.
type jsonFlag bool

func (j *jsonFlag) flag(usage string) cmdFlag {
	return cmdFlag{"json", boolSwitch((*bool)(j)), usage, groupReports, 0}
}

// format returns the name of the format.
func (j jsonFlag) format() string {
	if j {
		return "json"
	}
	return "text"
}

// groupFlags describe the groups of ranks.
func groupFlags(mesh *[]ranks.Axis, file *string) []cmdFlag {
	return []cmdFlag{
		{"parallel", parsedValue(mesh, ranks.ParseMesh), "`AXES` of the mesh of ranks, such as tp=2,dp=4; of tp, cp, ep, dp, pp and order=tp-cp-ep-dp-pp; default: from the dump", groupFacts, 0},
		{"groups", textValue(file), "`FILE` with the ranks of groups that the dump only names, one line NAME: 0,3,5 for each group", groupFacts, 0},
	}
}

// maxGroupsFile is the size limit of a file of groups, in bytes.
const maxGroupsFile = 16 << 20

// readGroups reads a file of groups; an empty path reads none.
func readGroups(to *ranks.Groups, file string) error {
	if file == "" {
		return nil
	}
	var content []byte
	err := safefile.Read(file, func(in safefile.Input) (err error) {
		if in.Size() > maxGroupsFile {
			return lang.Errorf("has %d bytes, want at most %d", in.Size(), maxGroupsFile)
		}
		content, err = io.ReadAll(io.NewSectionReader(in, 0, in.Size()))
		return err
	})
	if err != nil {
		return usagef("--groups: %w", err)
	}
	if to.Named, err = ranks.ParseGroups(string(content)); err != nil {
		return usagef("--groups %s: %w", file, err)
	}
	return nil
}

// rankError makes an error in --parallel a usage error.
func rankError(err error) error {
	if mesh, ok := errors.AsType[*ranks.MeshError](err); ok {
		return usagef("%w", mesh)
	}
	return err
}

// s3Group is the group of settings for object storage in files; s3Prefix begins the names of their
// flags.
const (
	s3Group  = "s3"
	s3Prefix = "s3-"
)

// s3Flags are the flags for object storage. Every command has them; only the help of the program
// lists them. Keys are not flags, since lists of processes would show them.
func (o *globalOptions) s3Flags() []cmdFlag {
	s := &o.s3
	s.PathStyle, s.Block, s.Cache, s.Spool, s.Concurrency, s.RetryTime = "auto", 8<<20, 64<<20, store.Spool, store.Concurrency, store.RetryTime
	return []cmdFlag{
		{"s3-endpoint", textValue(&s.Endpoint), "`URL` of the object storage; default: AWS_ENDPOINT_URL_S3, else AWS", groupStorage, 0},
		{"s3-region", textValue(&s.Region), "region `REGION` of the object storage; default: AWS_REGION, else from the endpoint", groupStorage, 0},
		{"s3-path-style", choice(&s.PathStyle, []string{"auto", "on", "off"}), "put the bucket into the path of URLs, not into the host name; auto: on, except for AWS and OBS", groupStorage, 0},
		{"s3-no-sign", boolSwitch(&s.NoSign), "do not sign requests, for public buckets", groupStorage, 0},
		{"s3-block", (*sizeFlag)(&s.Block), "bytes of one read request", groupStorage, 0},
		{"s3-concurrency", integerValue(&s.Concurrency, math.MinInt, math.MaxInt, "want a number"), "requests that read at the same time", groupStorage, 0},
		{"s3-retry-time", durationValue(&s.RetryTime), "how long a failed request is retried", groupStorage, 0},
		{"s3-cache", (*sizeFlag)(&s.Cache), "bytes of objects in memory", groupStorage, 0},
		{"s3-spool", (*sizeFlag)(&s.Spool), "bytes of objects kept in $TMPDIR: objects that are read again and do not fit into memory", groupStorage, 0},
	}
}

// isS3 reports whether a flag is a setting of object storage.
func isS3(f *pflag.Flag) bool { return strings.HasPrefix(f.Name, s3Prefix) && f.Name != abortStaleFlag }

// abortStaleFlag is the flag that aborts uploads of killed processes.
const abortStaleFlag = "s3-abort-stale"

// abortStale aborts uploads below out that are older than age.
func (a *app) abortStale(out string, age time.Duration) error {
	switch {
	case age < 0:
		return usagef("--%s %v: want a time such as 24h", abortStaleFlag, age)
	case !store.IsRemote(out):
		return usagef("--%s is for -out s3://bucket/key, not for %s", abortStaleFlag, out)
	}
	removed, err := store.AbortStale(out, time.Now().Add(-age))
	for _, u := range removed {
		a.msg.Infof("%s", a.translate(lang.Say("%s: removed the parts of an upload that was begun at %s",
			u.Path, u.Begun.UTC().Format(time.DateTime))))
	}
	if err == nil && len(removed) == 0 {
		a.msg.Infof("%s", a.translate(lang.Say("%s: no unfinished uploads older than %v", out, age)))
	}
	return err
}

// useStore configures object storage. No connection is made before the first path that needs one.
func (a *app) useStore(ctx context.Context) error {
	set := a.global.s3
	set.Context, set.Getenv = ctx, a.getenv
	if set.Spool == 0 {
		set.Spool = -1 // no spool
	}
	set.Note = func(note lang.Sentence) { a.msg.Infof("%s", a.translate(note)) }
	if err := set.Check(); err != nil {
		return usagef("object storage: %v", err)
	}
	store.UseObjects(func() (store.Objects, error) { return store.NewS3(set) })
	return nil
}

// sizeFlag is a number of bytes.
type sizeFlag int64

// sizeUnits lists the units of sizes, powers of 1024.
var sizeUnits = []string{"", "KiB", "MiB", "GiB"}

// sizeForm matches a size.
var sizeForm = lang.Pattern(`^([0-9]+) ?(?:([kKmMgG])(?:[iI]?[bB])?|[bB])?$`)

// Set implements pflag.Value.
func (s *sizeFlag) Set(text string) error {
	m := sizeForm().FindStringSubmatch(text)
	if m == nil {
		return lang.Errorf("want a size such as 8MiB")
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	shift := 10 * (1 + strings.Index("kmg", strings.ToLower(m[2])))
	if m[2] == "" {
		shift = 0
	}
	if err != nil || n > 1<<40>>shift {
		return lang.Errorf("want at most 1024 GiB")
	}
	*s = sizeFlag(n << shift)
	return nil
}

// String implements pflag.Value.
func (s *sizeFlag) String() string {
	n, unit := int64(*s), 0
	for n != 0 && n%1024 == 0 && unit+1 < len(sizeUnits) {
		n, unit = n/1024, unit+1
	}
	return strconv.FormatInt(n, 10) + sizeUnits[unit]
}

// Type implements pflag.Value.
func (s *sizeFlag) Type() string { return "size" }
