package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/report"
	"dumptool/internal/ui"
)

// newHelpCommand replaces cobra's own, which exits with success for an unknown topic.
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

// topic is a help topic that several flags serve.
type topic struct {
	name, about string
	flags       level
	text        string
}

// topics lists all topics. Each flag's properties name its topics.
var topics = []topic{
	{"limits", "when a tensor fails", topicLimits, `By default a tensor fails by evidence of a fault: its operator adds an error that
neither rounding nor the errors of its inputs explain. Limits decide instead where any
are given: by flags, by a profile other than hpaa, or for single operators by the file
of --op-config. An element is then an error unless |npu - cpu| <= atol + rtol*|cpu|.

Gates are limits on a metric of a whole tensor and apply in both cases. An undefined
metric breaks no gate, except a mean relative error that is undefined because a
reference of zeros differs. --min-cos, --max-red, --max-mean-rel, --min-sqnr and
--max-ulp are other spellings of gates.`},
	{"order", "execution order, and the data flow between operators", topicOrder, `The first bad operator is the first in execution order, and errors are traced from
operator to operator along the data flow. Both come from files beside the dumps. If
these are not enough, give a file: an execution order, a map of consumers, a graph of
MindSpore, the graph of an offline model. Without any file, inputs are joined with
earlier outputs that have the same elements.`},
	{"layouts", "shapes, axis orders and element types", topicLayouts, `Tensors in a layout of the device are brought to the shape and axis order of the
reference, as recorded in dumps and file names. These flags give what is not recorded,
and say what to do with shapes that do not fit.`},
	{"shards", "one run on many machines", topicShards, `Each machine gets the whole command line and --shard I/N (auto/N if the scheduler sets
I), and writes a document below the folder of -out. From these documents 'dumptool
merge' makes the reports of one run, without reading tensors. 'dumptool cluster' prints
the jobs for Slurm, Kubernetes and Volcano.`},
	{"hpaa", "files and names of HPAA", topicHPAA, `With $DUMP_MEMORY_PATH set, its folders cpu, npu and result are the two sides and the
place of the reports, where op_config.csv, node_runtime.file and
consumer_map_dict.file are read. cpu_vs_npu.csv has HPAA's columns and numbers.
'dumptool hpaa import' makes arrays of the raw pieces that the device leaves.`},
	{"msaccucmp", "how flags of msaccucmp are spelled here", topicMsaccucmp, `Long flags work with one dash, and with _ for -. -m and -g are the two sides, -f the
fusion rules, -out the folder of the reports; --format msaccucmp writes its table.
'convert' has the flags of its shape conversion: -d, -out, -f, -s, -o, -i, -t, -v, -c.`},
}

// printTopic prints a topic and the flags that serve it.
func (a *app) printTopic(root *cobra.Command, t *topic) {
	h := a.helpFor()
	set := pflag.NewFlagSet(t.name, pflag.ContinueOnError)
	set.SortFlags = false
	for _, sub := range root.Commands() {
		visitDefined(sub, func(f *pflag.Flag) {
			if hasLevel(f, t.flags) && !f.Hidden && set.Lookup(f.Name) == nil {
				set.AddFlag(h.translateFlag(f))
			}
		})
	}
	text := t.text
	if h.chinese {
		text = lang.Chinese("topic¦" + t.name)
	}
	fmt.Fprintf(a.out, "%s\n\n%s\n%s", strings.TrimRight(h.wrap(text), "\n"), h.translateTitle("Flags"), h.flagUsages(set))
}

// topicNames lists the topics.
func (h help) topicNames() string {
	all := lists.Map(topics, func(t topic) string { return t.name })
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + h.translateLine(" or ") + all[last]
}

// Help texts are written for helpWidth columns. A narrower terminal gets broken lines; on a wider
// one flags use up to maxHelpWidth. A text of more than screenLines is shortened without
// --help-all.
const (
	helpWidth    = 80
	maxHelpWidth = 120
	screenLines  = 60
)

// help holds the options of a help text.
type help struct {
	width   int
	chinese bool
	// omitsRareFlags omits rarely needed flags, briefer all examples but two, briefest all.
	omitsRareFlags, briefer, briefest bool
}

// helpFor returns the options for stdout.
func (a *app) helpFor() help {
	h := help{width: helpWidth, chinese: a.lang() == report.Chinese}
	if a.streams.OutWidth > 0 {
		h.width = min(a.streams.OutWidth, maxHelpWidth)
	}
	return h
}

// helpAllValue is the flag that prints the whole help; --help prints a screen.
func (a *app) helpAllValue() pflag.Value {
	v := boolSwitch(&a.wholeHelp)
	v.read = func(text string) (bool, error) {
		whole, err := strconv.ParseBool(text)
		switch {
		case err != nil || !whole:
		case a.requested == nil: // an inner command line, behind --
			err = pflag.ErrHelp
		default:
			err = a.requested.Flags().Set(helpFlag, "true")
		}
		return whole, err
	}
	return v
}

// printHelp prints the help of cmd: a screen of it, unless --help-all is given.
func (a *app) printHelp(cmd *cobra.Command) {
	if takesSettings(cmd) {
		_ = a.applySettings(cmd) // for the language; help is printed despite mistakes in settings
	}
	h := a.helpFor()
	if h.chinese {
		summariseInChinese(cmd.Root())
	}
	text := h.helpText(cmd)
	for _, shorter := range []*bool{&h.omitsRareFlags, &h.briefer, &h.briefest} {
		if !a.wholeHelp && strings.Count(text, "\n") > screenLines {
			*shorter = true
			text = h.helpText(cmd)
		}
	}
	fmt.Fprint(a.out, text)
}

// helpText returns the help of a command, with the exit status at its end.
func (h help) helpText(cmd *cobra.Command) string {
	about, status, _ := strings.Cut(cmd.Long, exitStatusTitle)
	if h.chinese {
		chinese, ok := lang.Lookup("help¦" + strings.Join(commandPath(cmd), " "))
		if !ok {
			chinese = cmd.Short
		}
		about = chinese + "\n\n" + h.translateLists(about)
	}
	about = strings.TrimSpace(about)
	if h.omitsRareFlags {
		about, _, _ = strings.Cut(about, "\n\n")
	}
	about = strings.TrimRight(h.wrap(about), "\n")
	return about + "\n\n" + h.usageLines(cmd) + h.translateLine(exitStatusTitle) + h.wrap(h.translateList(status))
}

// translateLine translates a word or line of help.
func (h help) translateLine(english string) string {
	if h.chinese {
		return lang.Chinese(english)
	}
	return english
}

// translateTitle translates a title of help.
func (h help) translateTitle(english string) string {
	if h.chinese {
		return h.translateLine(english) + "："
	}
	return english + ":"
}

// translateLists returns the paragraphs of a text that are lists with a title, translated.
func (h help) translateLists(text string) string {
	var all []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		title, list, _ := strings.Cut(paragraph, ":\n")
		if _, known := lang.Lookup(title); known {
			all = append(all, h.translateTitle(title)+"\n"+h.translateList(list))
		}
	}
	return strings.Join(all, "\n\n")
}

// translateList translates the last column of a list's lines.
func (h help) translateList(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		const gap = "  "
		start := strings.LastIndex(line, gap) + len(gap)
		if start >= len(gap) {
			lines[i] = line[:start] + h.translateLine(line[start:])
		}
	}
	return strings.Join(lines, "\n")
}

// wrap breaks lines that are too wide for the terminal: whole paragraphs, and indented lines
// (lists) below their text.
func (h help) wrap(text string) string {
	var b, paragraph strings.Builder
	flush := func() {
		b.WriteString(h.wrapIfLong(paragraph.String(), 0))
		paragraph.Reset()
	}
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" && line[0] != ' ' {
			paragraph.WriteString(line)
			continue
		}
		flush()
		b.WriteString(h.wrapIfLong(line, textColumn(line)))
	}
	flush()
	return b.String()
}

// wrapIfLong returns a text, broken by wrapWords if one of its lines is too long.
func (h help) wrapIfLong(text string, indent int) string {
	for line := range strings.Lines(text) {
		if ui.Columns.StringWidth(strings.TrimSuffix(line, "\n")) > h.width {
			return wrapWords(text, h.width, indent)
		}
	}
	return text
}

// textColumn returns the column of the text in a list's line: after the first gap of two blanks,
// else at the first word.
func textColumn(line string) int {
	start := len(line) - len(strings.TrimLeft(line, " "))
	if gap := strings.Index(line[start:], "  "); gap >= 0 {
		rest := line[start+gap:]
		return start + gap + len(rest) - len(strings.TrimLeft(rest, " "))
	}
	return start
}

// wrapWords breaks a text into lines of at most width columns and indents all but the first. The
// text before the first word stays.
func wrapWords(text string, width, indent int) string {
	if strings.TrimSpace(text) == "" {
		return text
	}
	head := text[:min(indent, len(text))]
	words := strings.Join(strings.Fields(text[len(head):]), " ")
	lines := ui.WrapWords(words, width-len(head), width-indent)
	return head + strings.Join(lines, "\n"+strings.Repeat(" ", indent)) + "\n"
}

// usageLines returns the usage lines of a command, and its flags in groups.
func (h help) usageLines(cmd *cobra.Command) string {
	var b strings.Builder
	b.WriteString(h.translateTitle("Usage") + "\n  " + strings.ReplaceAll(cmd.UseLine(), "[flags]", h.translateLine("[flags]")) + "\n")
	if cmd.HasAvailableSubCommands() {
		b.WriteString("  " + cmd.CommandPath() + " COMMAND\n")
	}
	if examples := strings.Split(cmd.Example, "\n"); cmd.HasExample() && !h.briefest {
		if h.briefer {
			examples = examples[:min(len(examples), 2)]
		}
		b.WriteString("\n" + h.translateTitle("Examples") + "\n" + strings.Join(examples, "\n") + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n" + h.listCommands(cmd))
	}
	sets := h.flagsByGroup(cmd)
	gap := "\n"
	for _, g := range groups {
		set := sets[g]
		if set == nil || h.omitsRareFlags && (g == groupGlobal || g == groupStorage) || g == groupStorage && cmd.HasParent() {
			continue
		}
		b.WriteString(gap + h.translateTitle(string(g)) + "\n" + h.flagUsages(set))
		if h.omitsRareFlags {
			gap = ""
		}
	}
	b.WriteString("\n")
	if cmd.HasAvailableSubCommands() && !takesArguments(cmd) {
		fmt.Fprintf(&b, h.translateLine("'%s COMMAND --help' says more about a command.\n"), cmd.CommandPath())
	}
	if h.omitsRareFlags {
		fmt.Fprintf(&b, h.translateLine("'%s --help-all' says more and lists all flags.\n"), cmd.CommandPath())
	} else if cmd.HasParent() {
		b.WriteString(h.translateLine("'dumptool --help-all' also lists the flags of object storage (s3://).\n"))
	}
	if set := sets[groupVerdict]; set != nil && set.Lookup("verdict") != nil {
		b.WriteString(h.wrap(fmt.Sprintf(h.translateLine("'dumptool help TOPIC': %s.\n"), h.topicNames())))
	}
	return b.String()
}

// listCommands lists the subcommands of a command.
func (h help) listCommands(cmd *cobra.Command) string {
	var b strings.Builder
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
			fmt.Fprintf(&b, "  %-12s %s\n", sub.Name(), sub.Short)
		}
	}
	if h.omitsRareFlags && takesArguments(cmd) {
		return h.translateTitle("Commands") + " " + strings.Join(names, ", ") + "\n"
	}
	return h.translateTitle("Commands") + "\n" + b.String()
}

// visitDefined calls visit for the flags of a command in the order of their definition.
func visitDefined(cmd *cobra.Command, visit func(*pflag.Flag)) {
	cmd.InheritedFlags() // merges the inherited flags into cmd.Flags
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.VisitAll(visit)
	flags.SortFlags = true
}

// flagsByGroup returns the flags of a command that help lists.
func (h help) flagsByGroup(cmd *cobra.Command) map[group]*pflag.FlagSet {
	sets := map[group]*pflag.FlagSet{}
	visitDefined(cmd, func(f *pflag.Flag) {
		if f.Hidden || h.omitsRareFlags && hasLevel(f, rareLevel) {
			return
		}
		g := cmp.Or(groupOf(f), groupMore)
		if sets[g] == nil {
			sets[g] = pflag.NewFlagSet(string(g), pflag.ContinueOnError)
			sets[g].SortFlags = false
		}
		sets[g].AddFlag(h.translateFlag(f))
	})
	return sets
}

// translateFlag translates the usage of a flag; brief help ends it at the first semicolon.
func (h help) translateFlag(f *pflag.Flag) *pflag.Flag {
	shown, end := *f, "; "
	switch {
	case h.chinese && f.Name == helpFlag:
		shown.Usage = h.translateLine("help for a command")
	case h.chinese:
		shown.Usage, end = usageInChinese(f), "；"
	}
	if h.omitsRareFlags {
		shown.Usage, _, _ = strings.Cut(shown.Usage, end)
	}
	if word, usage := pflag.UnquoteUsage(&shown); f.NoOptDefVal != "" && word != "" { // the value is optional
		shown.Name, shown.Usage, shown.NoOptDefVal = f.Name+"[="+word+"]", "``"+usage, ""
	}
	return &shown
}

// defaultValue is the default of a flag at the end of a line of its usage.
var defaultValue = regexp.MustCompile(`(?m) \(default (.*)\)$`)

// flagUsages lists flags.
func (h help) flagUsages(set *pflag.FlagSet) string {
	if !h.chinese {
		return set.FlagUsagesWrapped(h.width)
	}
	return h.wrap(defaultValue.ReplaceAllString(set.FlagUsages(), "（默认 $1）"))
}

// summariseInChinese sets the Chinese summaries of a command and its subcommands.
func summariseInChinese(cmd *cobra.Command) {
	cmd.Short = lang.Chinese(cmd.Short)
	for _, sub := range cmd.Commands() {
		summariseInChinese(sub)
	}
}
