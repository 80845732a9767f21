package main

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
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

// tool is a program in whose place dumptool can be called: by its name, as a link to
// dumptool has it, or as the first word.
type tool struct {
	name     string
	commands []toolCommand
	// before are flags of the tool in front of the command.
	before []toolFlag
}

// toolCommand is a command of a tool, of which the name is empty where the tool has only one.
type toolCommand struct {
	name string
	// as are the words of dumptool, more are flags that it gets unless they are given.
	as   []string
	more [][]string
	// flags are those of the tool; without any dumptool has them by the same names.
	flags []toolFlag
}

// toolFlag is a flag of a tool.
type toolFlag struct {
	// names are the names of the flag, with | between them.
	names string
	// value is set for one that takes a value, optional for one that may go without.
	value, optional bool
	// as is the flag of dumptool, empty for one that changes nothing here.
	as string
	// read makes arguments of the value in place of as; nil for most.
	read func(value string) ([]string, error)
}

// hpaaTool is HPAA's script that compares.
const hpaaTool = "run_precision_analysis"

// tools are all of them.
var tools = []tool{
	{name: "msaccucmp", commands: []toolCommand{
		{"compare", []string{"compare"}, [][]string{{"--format", "msaccucmp,html"}, {"--out", "."}}, []toolFlag{
			{names: "m|my-dump-path", value: true, as: "--npu"},
			{names: "g|golden-dump-path", value: true, as: "--cpu"},
			{names: "f|fusion-rule-file", value: true, as: "--fusion"},
			{names: "out|output", value: true, as: "--out"},
			{names: "v|version", value: true, as: "--version"},
			{names: "max|max-line", value: true, as: "--max-elems"},
			{names: "n|topn", value: true, as: "--topn"},
			{names: "alg|algorithm", value: true}, {names: "a|algorithm-options", value: true}, // all are written
			{names: "advisor"}, {names: "overflow-detection"}, {names: "ffts"}, {names: "p|post-process", value: true},
			{names: "op|op-name", value: true, as: "--ops"},
			{names: "ml|max-line-number", value: true}, {names: "ignore-single-op-result"}, // the table is one file
			{names: "q|quant-fusion-rule-file", value: true, read: insteadOf("pairs are found without rules of quantisation; --map-node-dict pairs names that differ")},
			{names: "cf|close-fusion-rule-file", value: true, read: insteadOf("operators of the reference have their own names; --map-node-dict pairs those that differ")},
			{names: "r|range", value: true, read: insteadOf("operators have no numbers here; 'dumptool compare --ops NAMES' takes their names, and re:PATTERN")},
			{names: "s|select", value: true, read: insteadOf("operators have no numbers here; 'dumptool compare --ops NAMES' takes their names, and re:PATTERN")},
			{names: "map|mapping", read: insteadOf("there is no table of pairs alone; compare.json has the rule, the files and the names of each")},
			{names: "c|custom-script-path", value: true, read: insteadOf("code of others is not run; 'dumptool compare --format json' has all metrics")},
			{names: "o|output-tensor", value: true, read: insteadOf("'dumptool compare detail --op NAME:output:N' shows one tensor")},
			{names: "i|input-tensor", value: true, read: insteadOf("'dumptool compare detail --op NAME:input:N' shows one tensor")},
		}},
		{"convert", []string{"convert"}, nil, nil},
		{"overflow", []string{"overflow", "analyze"}, [][]string{{"--compat"}, {"--out", "."}}, []toolFlag{
			{names: "d|dump-path", value: true, as: "--dump-path"},
			{names: "out|output", value: true, as: "--out"},
			{names: "n|top-num", value: true, as: "--top-num"},
		}},
		{"file-compare", []string{"compare"}, [][]string{{"--format", "msaccucmp,html"}, {"--out", "."}}, []toolFlag{
			{names: "m|my-dump-path", value: true, as: "--npu"},
			{names: "g|golden-dump-path", value: true, as: "--cpu"},
			{names: "out|output", value: true, as: "--out"},
		}},
	}},
	{name: hpaaTool, commands: []toolCommand{{"", []string{"compare"}, [][]string{{"--format", "hpaa,html"}}, nil}}},
	{name: "run_npu_data_analysis", commands: []toolCommand{{"", []string{"hpaa", "import"}, nil, nil}}},
	{name: "msprobe", before: []toolFlag{{names: "f|framework", value: true}}, commands: []toolCommand{
		{"compare", []string{"compare"}, [][]string{{"--format", "msprobe,html"}, {"--out", "./output"}}, []toolFlag{
			{names: "i|input-path", value: true, read: msprobeSides},
			{names: "o|output-path", value: true, as: "--out"},
			{names: "c|compare-only"}, {names: "s|stack-mode"},
			{names: "f|fuzzy-match", as: "--fuzzy"},
			{names: "tp|target-path", value: true, read: func(path string) ([]string, error) { return []string{"--npu", runOf(path)}, nil }},
			{names: "gp|golden-path", value: true, read: func(path string) ([]string, error) { return []string{"--cpu", runOf(path)}, nil }},
			{names: "dm|data-mapping", value: true, read: mappingFile},
			{names: "lm|layer-mapping", value: true, read: mappingFile},
			// Without a file names are as the program knows them.
			{names: "cm|cell-mapping", value: true, optional: true, read: mappingFile},
			{names: "am|api-mapping", value: true, optional: true, read: mappingFile},
		}},
	}},
}

// insteadOf refuses a flag that has no meaning here, and says what to use.
func insteadOf(what string) func(string) ([]string, error) {
	return func(string) ([]string, error) { return nil, usagef("%s", what) }
}

// mappingFile is the flag with the names of a file.
func mappingFile(path string) ([]string, error) { return []string{"--map-node-dict", "@" + path}, nil }

// msprobeSides reads the paths of both sides from the file of -i.
func msprobeSides(path string) ([]string, error) {
	var sides struct {
		NPU   string `json:"npu_path"`
		Bench string `json:"bench_path"`
	}
	src, err := safefile.ReadFile(path)
	if err != nil {
		return nil, configError(err)
	}
	if err := json.Unmarshal(src, &sides); err != nil {
		return nil, configError(safefile.WithPath(path, err))
	}
	if sides.NPU == "" || sides.Bench == "" {
		return nil, usagef("%s: want an object with the keys npu_path and bench_path", path)
	}
	return []string{"--cpu", runOf(sides.Bench), "--npu", runOf(sides.NPU)}, nil
}

// runOf is the folder of a dump.json, which stands for it.
func runOf(path string) string {
	if store.Base(path) == "dump.json" {
		return store.Dir(path)
	}
	return path
}

// calledAs are the arguments of a process, behind the tool whose name it was called by.
func calledAs(args []string) []string {
	if t := toolOf(store.Base(args[0])); t != nil {
		return append([]string{t.name}, args[1:]...)
	}
	return args[1:]
}

// toolOf is the tool of a name, nil for other names.
func toolOf(word string) *tool {
	i := slices.IndexFunc(tools, func(t tool) bool { return t.name == strings.TrimSuffix(word, ".py") })
	if i < 0 {
		return nil
	}
	return &tools[i]
}

// fromTool returns the arguments of dumptool that do what those of a tool say; others stay
// as they are.
func fromTool(args []string) ([]string, error) {
	if len(args) == 0 {
		return args, nil
	}
	t := toolOf(args[0])
	if t == nil {
		return args, nil
	}
	args = args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && t.before != nil {
		_, rest, err := translate(t.name, t.before, args)
		if err != nil {
			return nil, err
		}
		args = rest
	}
	c := &t.commands[0]
	if c.name != "" {
		word := ""
		if len(args) > 0 {
			word, args = args[0], args[1:]
		}
		i := slices.IndexFunc(t.commands, func(c toolCommand) bool { return c.name == plainFlag(word) })
		if i < 0 {
			return nil, t.unknown(word)
		}
		c = &t.commands[i]
	}
	return c.translate(t.name, args)
}

// unknown is the error for a word that is no command of the tool.
func (t *tool) unknown(word string) error {
	var names []string
	for _, c := range t.commands {
		names = append(names, strings.ReplaceAll(c.name, "-", "_"))
	}
	if word == "" {
		return usagef("%s: no command given; known: %s", t.name, strings.Join(names, ", "))
	}
	return usagef("%s %s is not known here; known: %s", t.name, word, strings.Join(names, ", "))
}

// translate makes arguments of dumptool.
func (c *toolCommand) translate(name string, args []string) ([]string, error) {
	line := slices.Clone(c.as)
	if c.flags == nil {
		line = append(line, args...)
	}
	for c.flags != nil && len(args) > 0 {
		more, rest, err := translate(strings.TrimSpace(name+" "+c.name), c.flags, args)
		if err != nil {
			return nil, err
		}
		line, args = append(line, more...), rest
	}
	for _, more := range c.more {
		given := func(word string) bool {
			flag, _, _ := strings.Cut(word, "=")
			return strings.HasPrefix(word, "-") && plainFlag(flag) == plainFlag(more[0])
		}
		if !slices.ContainsFunc(line, given) {
			line = append(line, more...)
		}
	}
	return line, nil
}

// plainFlag is the name of a flag or command without dashes in front, and with - for _.
func plainFlag(word string) string { return strings.ReplaceAll(strings.TrimLeft(word, "-"), "_", "-") }

// translate takes one flag off the arguments of a tool.
func translate(command string, flags []toolFlag, args []string) (line, rest []string, err error) {
	word, value, hasValue := strings.Cut(args[0], "=")
	rest = args[1:]
	i := slices.IndexFunc(flags, func(f toolFlag) bool { return slices.Contains(strings.Split(f.names, "|"), plainFlag(word)) })
	if i < 0 || word[:min(1, len(word))] != "-" {
		var names []string
		for _, f := range flags {
			first, _, _ := strings.Cut(f.names, "|")
			names = append(names, "-"+strings.ReplaceAll(first, "-", "_"))
		}
		return nil, nil, usagef("%s %s is not known here; known: %s", command, args[0], strings.Join(names, ", "))
	}
	f := &flags[i]
	if f.value && !hasValue {
		if f.optional && (len(rest) == 0 || strings.HasPrefix(rest[0], "-")) {
			return nil, rest, nil
		}
		if len(rest) == 0 {
			return nil, nil, usagef("%s: %s needs a value", command, word)
		}
		value, rest = rest[0], rest[1:]
	}
	switch {
	case f.read != nil:
		line, err = f.read(value)
	case f.as != "" && f.value:
		line = []string{f.as, value}
	case f.as != "":
		line = []string{f.as}
	}
	if err != nil {
		err = lang.Errorf("%s %s: %w", command, word, err)
	}
	return line, rest, err
}

// hpaaFlags are the flags that only HPAA's scripts have.
var hpaaFlags = []string{"cpu-dir", "npu-dir", "op-config-name", "hpaa-version", "show-graph", "diff-cnt"}

// isHPAAs reports whether a word is such a flag.
func isHPAAs(word string) bool {
	flag, _, _ := strings.Cut(word, "=")
	return strings.HasPrefix(word, "-") && slices.Contains(hpaaFlags, plainFlag(flag))
}
