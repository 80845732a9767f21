package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/report"
)

// Help texts are written for helpWidth columns. A terminal that has less gets
// broken lines, and of one that has more flags take at most maxHelpWidth. A text of more
// than screenLines is whole with --help-all only.
const (
	helpWidth    = 80
	maxHelpWidth = 120
	screenLines  = 60
)

// help is how a help text looks.
type help struct {
	width int
	// brief leaves out what is rarely needed, briefer the examples too.
	brief, briefer bool
}

// helpFor is how help looks on stdout.
func (a *app) helpFor() help {
	if a.streams.OutWidth > 0 {
		return help{width: min(a.streams.OutWidth, maxHelpWidth)}
	}
	return help{width: helpWidth}
}

// allHelp is the flag that prints all help, as --help does it with a screen.
func (a *app) allHelp() pflag.Value {
	v := yes(&a.wholeHelp)
	v.read = func(text string) (bool, error) {
		whole, err := strconv.ParseBool(text)
		switch {
		case err != nil || !whole:
		case a.asked == nil: // a command line of others
			err = pflag.ErrHelp
		default:
			err = a.asked.Flags().Set(helpFlag, "true")
		}
		return whole, err
	}
	return v
}

// printHelp prints the help of cmd: a screen of it unless all was asked for.
func (a *app) printHelp(cmd *cobra.Command) {
	if takesSettings(cmd) {
		_ = a.applySettings(cmd) // for the language; mistakes in settings are no reason to keep help back
	}
	chinese := a.lang() == report.Chinese
	if chinese {
		summariseInChinese(cmd.Root())
	}
	h := a.helpFor()
	text := h.text(cmd, chinese)
	for _, shorter := range []*bool{&h.brief, &h.briefer} {
		if !a.wholeHelp && strings.Count(text, "\n") > screenLines {
			*shorter = true
			text = h.text(cmd, chinese)
		}
	}
	fmt.Fprint(a.out, text)
}

// text is the help of a command, with the exit status at its end.
func (h help) text(cmd *cobra.Command, chinese bool) string {
	about, status, _ := strings.Cut(cmd.Long, exitStatusTitle)
	about = strings.TrimSpace(about)
	if h.brief {
		about, _, _ = strings.Cut(about, "\n\n")
	}
	about = strings.TrimRight(h.wrap(about), "\n")
	if chinese {
		about = cmd.Short + "\n\n" + about
	}
	return about + "\n\n" + h.usage(cmd) + exitStatusTitle + h.wrap(status)
}

// wrap breaks what has lines that the terminal has no room for: paragraphs as a whole, and
// lines that are indented, such as those of lists, below their text.
func (h help) wrap(text string) string {
	var b, paragraph strings.Builder
	flush := func() {
		b.WriteString(h.fit(paragraph.String(), 0))
		paragraph.Reset()
	}
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" && line[0] != ' ' {
			paragraph.WriteString(line)
			continue
		}
		flush()
		b.WriteString(h.fit(line, textColumn(line)))
	}
	flush()
	return b.String()
}

// fit is a text, broken as wrapWords does if one of its lines is too long.
func (h help) fit(text string, indent int) string {
	for line := range strings.Lines(text) {
		if len(strings.TrimSuffix(line, "\n")) > h.width {
			return wrapWords(text, h.width, indent)
		}
	}
	return text
}

// textColumn is where the text of a line of a list begins: behind the first gap of
// two blanks, else at the first word.
func textColumn(line string) int {
	start := len(line) - len(strings.TrimLeft(line, " "))
	if gap := strings.Index(line[start:], "  "); gap >= 0 {
		rest := line[start+gap:]
		return start + gap + len(rest) - len(strings.TrimLeft(rest, " "))
	}
	return start
}

// wrapWords breaks a text into lines of at most width columns; those after the first
// are indented. What the text has before its first word stays.
func wrapWords(text string, width, indent int) string {
	if strings.TrimSpace(text) == "" {
		return text
	}
	var b strings.Builder
	line := text[:min(indent, len(text))]
	for i, word := range strings.Fields(text[len(line):]) {
		switch {
		case i == 0:
		case len(line)+1+len(word) > width:
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", indent)
		default:
			line += " "
		}
		line += word
	}
	return b.String() + line + "\n"
}

// usage is how a command is called, and its flags, in groups.
func (h help) usage(cmd *cobra.Command) string {
	var b strings.Builder
	b.WriteString("Usage:\n  " + cmd.UseLine() + "\n")
	if cmd.HasAvailableSubCommands() {
		b.WriteString("  " + cmd.CommandPath() + " COMMAND\n")
	}
	if cmd.HasExample() && !h.briefer {
		b.WriteString("\nExamples:\n" + cmd.Example + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n" + h.commands(cmd))
	}
	sets := h.flagsByGroup(cmd)
	gap := "\n"
	for _, g := range groups {
		set := sets[g]
		if set == nil || h.brief && (g == global || g == storage) || g == storage && cmd.HasParent() {
			continue
		}
		b.WriteString(gap + string(g) + ":\n" + set.FlagUsagesWrapped(h.width))
		if h.brief {
			gap = ""
		}
	}
	b.WriteString("\n")
	if cmd.HasAvailableSubCommands() && !takesArguments(cmd) {
		fmt.Fprintf(&b, "'%s COMMAND --help' says more about a command.\n", cmd.CommandPath())
	}
	if h.brief {
		fmt.Fprintf(&b, "'%s --help-all' says more and lists all flags.\n", cmd.CommandPath())
	} else if cmd.HasParent() {
		b.WriteString("'dumptool --help-all' lists those of object storage (s3://) too.\n")
	}
	if set := sets[judging]; set != nil && set.Lookup("verdict") != nil {
		b.WriteString(h.wrap("'dumptool help TOPIC' knows " + topicNames() + ".\n"))
	}
	return b.String()
}

// commands are those below a command.
func (h help) commands(cmd *cobra.Command) string {
	var b strings.Builder
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
			fmt.Fprintf(&b, "  %-12s %s\n", sub.Name(), sub.Short)
		}
	}
	if h.brief && takesArguments(cmd) {
		return "Commands: " + strings.Join(names, ", ") + "\n"
	}
	return "Commands:\n" + b.String()
}

// visitDefined calls visit for the flags of a command in the order in which they were
// defined.
func visitDefined(cmd *cobra.Command, visit func(*pflag.Flag)) {
	cmd.InheritedFlags() // makes them flags of cmd
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.VisitAll(visit)
	flags.SortFlags = true
}

// flagsByGroup are the flags of a command that help lists. In brief a usage ends at its
// first semicolon.
func (h help) flagsByGroup(cmd *cobra.Command) map[group]*pflag.FlagSet {
	sets := map[group]*pflag.FlagSet{}
	visitDefined(cmd, func(f *pflag.Flag) {
		if f.Hidden || h.brief && has(f, rare) {
			return
		}
		g := more
		if in := f.Annotations[groupKey]; len(in) > 0 {
			g = group(in[0])
		}
		if sets[g] == nil {
			sets[g] = pflag.NewFlagSet(string(g), pflag.ContinueOnError)
			sets[g].SortFlags = false
		}
		shown := *f
		if h.brief {
			shown.Usage, _, _ = strings.Cut(f.Usage, "; ")
		}
		sets[g].AddFlag(&shown)
	})
	return sets
}
