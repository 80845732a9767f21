package main

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

// normalizeFlag replaces _ by - in the names of long flags.
func normalizeFlag(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}

// commandLine is a list of arguments and the command they name.
type commandLine struct {
	cmd *cobra.Command
	// args holds the arguments in the form that pflag understands.
	args []string
	// extra is the word after the group cmd if it is not the name of a subcommand.
	extra string
}

// rewriteArgs adds the second dash to long flags with one dash: pflag would read -out as the
// shorthand -o with the value "ut". It walks the words as pflag does, so values and everything
// after -- stay unchanged. It also replaces aliases by the flags' names and lowers Python's True
// and False.
func rewriteArgs(root *cobra.Command, args []string) commandLine {
	if overview := subcommand(root, overviewName); overview != nil && beginsWithPath(root, overview, args) {
		line := rewriteFor(overview, args, false)
		line.args = append([]string{overviewName}, line.args...)
		return line
	}
	return rewriteFor(root, args, true)
}

// beginsWithPath reports whether the first non-flag word is a path and no command. overview
// supplies the flags.
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
		if w.takesNext || w.takesNextWord(args[i+1:]) {
			i++
		}
	}
	return false
}

// rewriteFor is rewriteArgs for the arguments after a command. With inGroup the command may be a
// group, and the first argument a subcommand.
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
			if w.takesNextWord(args[i+1:]) {
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
				// The rest is unfinished: cobra completes it.
				return commandLine{cmd: root, args: append([]string{}, args...)}
			case !line.cmd.HasSubCommands() || takesArguments(line.cmd):
			case unknown:
				// The word may be the value of the unknown flag: cobra reports the flag.
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

// takesArguments reports whether a command with subcommands also runs by itself, on arguments.
func takesArguments(cmd *cobra.Command) bool {
	return cmd.Args != nil && cmd.Args(cmd, []string{"argument"}) == nil
}

// cobraSkipsNext reports whether cobra, while looking for the command, takes the word after an
// unknown flag for its value.
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
	// words lists the possible values in the next word, for a long flag with an optional value.
	words []string
}

// takesNextWord reports whether the word after a flag is its value.
func (w *flagWord) takesNextWord(behind []string) bool {
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
		return rewriteShorthands(cmd.Flags(), word)
	}
	text := "--" + f.Name
	if hasValue {
		text += "=" + flagValue(f, value)
	}
	w := flagWord{text: text, known: true, takesNext: !hasValue && f.NoOptDefVal == ""}
	if !hasValue && f.NoOptDefVal != "" {
		w.words = []string{"true", "false"}
		if v, ok := f.Value.(interface{ completions() []string }); ok {
			w.words = append(w.words, v.completions()...)
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

// flagValue returns value as pflag reads it: Python spells booleans in other letter case.
func flagValue(f *pflag.Flag, value string) string {
	if f.Value.Type() == "bool" && (strings.EqualFold(value, "true") || strings.EqualFold(value, "false")) {
		return strings.ToLower(value)
	}
	return value
}

// rewriteShorthands reads a word of shorthands. Its text stays unchanged.
func rewriteShorthands(flags *pflag.FlagSet, word string) flagWord {
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

// tool is a program that dumptool replaces, if called by its name (through a link) or with the name
// as the first word.
type tool struct {
	name     string
	commands []toolCommand
	// before lists flags of the tool that precede the command.
	before []toolFlag
}

// toolCommand is a command of a tool; name is empty if the tool has only one.
type toolCommand struct {
	name string
	// words are the arguments of dumptool for the command; more holds flags to add unless they are given.
	words []string
	more  [][]string
	// flags lists the flags of the tool; nil: dumptool has flags of the same names.
	flags []toolFlag
}

// toolFlag is a flag of a tool.
type toolFlag struct {
	// names lists the names of the flag, separated by |.
	names string
	// value: the flag takes a value. optional: the value may be missing.
	value, optional bool
	// flag is dumptool's flag, empty for a flag without effect here.
	flag string
	// read, if not nil, translates the value to arguments instead of flag.
	read func(value string) ([]string, error)
}

// hpaaTool is HPAA's script that compares.
const hpaaTool = "run_precision_analysis"

// tools lists all replaced programs.
var tools = []tool{
	{name: "msaccucmp", commands: []toolCommand{
		{"compare", []string{"compare"}, [][]string{{"--format", "msaccucmp,html"}, {"--out", "."}}, []toolFlag{
			{names: "m|my-dump-path", value: true, flag: "--npu"},
			{names: "g|golden-dump-path", value: true, flag: "--cpu"},
			{names: "f|fusion-rule-file", value: true, flag: "--fusion"},
			{names: "out|output", value: true, flag: "--out"},
			{names: "v|version", value: true, flag: "--version"},
			{names: "max|max-line", value: true, flag: "--max-elems"},
			{names: "n|topn", value: true, flag: "--topn"},
			{names: "alg|algorithm", value: true}, {names: "a|algorithm-options", value: true}, // dumptool always writes all metrics
			{names: "advisor"}, {names: "overflow-detection"}, {names: "ffts"}, {names: "p|post-process", value: true},
			{names: "op|op-name", value: true, flag: "--ops"},
			{names: "ml|max-line-number", value: true}, {names: "ignore-single-op-result"}, // the table is one file
			{names: "q|quant-fusion-rule-file", value: true, read: refuseFlag("pairs are found without rules of quantisation; --map-node-dict pairs names that differ")},
			{names: "cf|close-fusion-rule-file", value: true, read: refuseFlag("operators of the reference have their own names; --map-node-dict pairs those that differ")},
			{names: "r|range", value: true, read: refuseFlag("operators have no numbers here; 'dumptool compare --ops NAMES' takes their names, and re:PATTERN")},
			{names: "s|select", value: true, read: refuseFlag("operators have no numbers here; 'dumptool compare --ops NAMES' takes their names, and re:PATTERN")},
			{names: "map|mapping", read: refuseFlag("there is no table of pairs alone; compare.json has the rule, the files and the names of each")},
			{names: "c|custom-script-path", value: true, read: refuseFlag("code of others is not run; 'dumptool compare --format json' has all metrics")},
			{names: "o|output-tensor", value: true, read: refuseFlag("'dumptool compare detail --op NAME:output:N' shows one tensor")},
			{names: "i|input-tensor", value: true, read: refuseFlag("'dumptool compare detail --op NAME:input:N' shows one tensor")},
		}},
		{"convert", []string{"convert"}, nil, nil},
		{"overflow", []string{"overflow", "analyze"}, [][]string{{"--out", "."}}, []toolFlag{
			{names: "d|dump-path", value: true, flag: "--dump-path"},
			{names: "out|output", value: true, flag: "--out"},
			{names: "n|top-num", value: true, flag: "--top-num"},
		}},
		{"file-compare", []string{"compare"}, [][]string{{"--format", "msaccucmp,html"}, {"--out", "."}}, []toolFlag{
			{names: "m|my-dump-path", value: true, flag: "--npu"},
			{names: "g|golden-dump-path", value: true, flag: "--cpu"},
			{names: "out|output", value: true, flag: "--out"},
		}},
	}},
	{name: hpaaTool, commands: []toolCommand{{"", []string{"compare"}, nil, nil}}},
	{name: "run_npu_data_analysis", commands: []toolCommand{{"", []string{"hpaa", "import"}, nil, nil}}},
	{name: "msprobe", before: []toolFlag{{names: "f|framework", value: true}}, commands: []toolCommand{
		{"compare", []string{"compare"}, [][]string{{"--format", "msprobe,html"}, {"--out", "./output"}}, []toolFlag{
			{names: "i|input-path", value: true, read: msprobeSides},
			{names: "o|output-path", value: true, flag: "--out"},
			{names: "c|compare-only"}, {names: "s|stack-mode"},
			{names: "f|fuzzy-match", flag: "--fuzzy"},
			{names: "tp|target-path", value: true, read: func(path string) ([]string, error) { return []string{"--npu", folderOfRun(path)}, nil }},
			{names: "gp|golden-path", value: true, read: func(path string) ([]string, error) { return []string{"--cpu", folderOfRun(path)}, nil }},
			{names: "dm|data-mapping", value: true, read: mappingArguments},
			{names: "lm|layer-mapping", value: true, read: mappingArguments},
			// Without a file the API names are the known ones.
			{names: "cm|cell-mapping", value: true, optional: true, read: mappingArguments},
			{names: "am|api-mapping", value: true, optional: true, read: mappingArguments},
		}},
	}},
}

// refuseFlag refuses a flag that has no meaning here, and says what to use.
func refuseFlag(what string) func(string) ([]string, error) {
	return func(string) ([]string, error) { return nil, usagef("%s", what) }
}

// mappingArguments returns the arguments for a file of names.
func mappingArguments(path string) ([]string, error) {
	return []string{"--map-node-dict", "@" + path}, nil
}

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
	return []string{"--cpu", folderOfRun(sides.Bench), "--npu", folderOfRun(sides.NPU)}, nil
}

// folderOfRun returns the folder of a dump.json, and other paths unchanged.
func folderOfRun(path string) string {
	if store.Base(path) == "dump.json" {
		return store.Dir(path)
	}
	return path
}

// toolArguments returns the arguments of a process, after the name of the tool if it was called as one.
func toolArguments(args []string) []string {
	if t := findTool(store.Base(args[0])); t != nil {
		return append([]string{t.name}, args[1:]...)
	}
	return args[1:]
}

// findTool finds a tool by name, or returns nil.
func findTool(word string) *tool {
	i := slices.IndexFunc(tools, func(t tool) bool { return t.name == strings.TrimSuffix(word, ".py") })
	if i < 0 {
		return nil
	}
	return &tools[i]
}

// translateTool translates the arguments of a tool to dumptool's, and returns the flags without effect
// here. Other arguments stay unchanged.
func translateTool(args []string) (line, unused []string, err error) {
	if len(args) == 0 {
		return args, nil, nil
	}
	t := findTool(args[0])
	if t == nil {
		return args, nil, nil
	}
	args = args[1:]
	if len(args) > 0 && isHelp(args[0]) && t.commands[0].name != "" {
		return args[:1], nil, nil
	}
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && t.before != nil {
		_, rest, err := translate(t.name, t.before, args)
		if err != nil {
			return nil, nil, err
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
			return nil, nil, t.unknownCommandError(word)
		}
		c = &t.commands[i]
	}
	return c.translate(t.name, args)
}

// unknownCommandError returns the error for an unknown command of the tool.
func (t *tool) unknownCommandError(word string) error {
	names := lists.Map(t.commands, func(c toolCommand) string { return strings.ReplaceAll(c.name, "-", "_") })
	if word == "" {
		return usagef("%s: no command given; known: %s", t.name, strings.Join(names, ", "))
	}
	return usagef("%s %s is not known here; known: %s", t.name, word, strings.Join(names, ", "))
}

// translate returns the arguments for dumptool, and the flags without effect here.
func (c *toolCommand) translate(name string, args []string) (line, unused []string, err error) {
	line = slices.Clone(c.words)
	if slices.ContainsFunc(args, isHelp) {
		return append(line, "--help"), nil, nil
	}
	if c.flags == nil {
		line = append(line, args...)
	}
	for c.flags != nil && len(args) > 0 {
		more, rest, err := translate(strings.TrimSpace(name+" "+c.name), c.flags, args)
		if err != nil {
			return nil, nil, err
		}
		if more == nil {
			flag, _, _ := strings.Cut(args[0], "=")
			unused = append(unused, flag)
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
	return line, unused, nil
}

// isHelp reports whether a word asks for help.
func isHelp(word string) bool { return word == "-h" || word == "--help" }

// plainFlag strips the leading dashes of a flag or command and replaces _ by -.
func plainFlag(word string) string { return strings.ReplaceAll(strings.TrimLeft(word, "-"), "_", "-") }

// translate translates the first flag in the arguments of a tool, and returns the rest.
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
			return []string{}, rest, nil
		}
		if len(rest) == 0 {
			return nil, nil, usagef("%s: %s needs a value", command, word)
		}
		value, rest = rest[0], rest[1:]
	}
	switch {
	case f.read != nil:
		line, err = f.read(value)
	case f.flag != "" && f.value:
		line = []string{f.flag, value}
	case f.flag != "":
		line = []string{f.flag}
	}
	if err != nil {
		err = lang.Errorf("%s %s: %w", command, word, err)
	}
	return line, rest, err
}

// hpaaFlags lists the flags that only HPAA's scripts have.
var hpaaFlags = []string{"cpu-dir", "npu-dir", "op-config-name", "hpaa-version", "show-graph", "diff-cnt"}

// isHPAAFlag reports whether a word is a flag in hpaaFlags.
func isHPAAFlag(word string) bool {
	flag, _, _ := strings.Cut(word, "=")
	return strings.HasPrefix(word, "-") && slices.Contains(hpaaFlags, plainFlag(flag))
}
