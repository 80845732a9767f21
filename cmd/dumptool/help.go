package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/report"
)

// Help texts are written for helpWidth columns. A terminal that has less gets
// broken lines, and of one that has more flags take at most maxHelpWidth.
const (
	helpWidth    = 80
	maxHelpWidth = 120
)

// help is how a help text looks.
type help struct {
	width int
	// short leaves out what -h does not say.
	short bool
}

// helpFor is how help looks on stdout: whole, but for -h on a terminal.
func (a *app) helpFor() help {
	h := help{width: helpWidth, short: a.shortHelp && a.streams.OutTTY}
	if a.streams.OutWidth > 0 {
		h.width = min(a.streams.OutWidth, maxHelpWidth)
	}
	return h
}

// printHelp prints the help of cmd: whole with the exit status at its end.
func (a *app) printHelp(cmd *cobra.Command) {
	if takesSettings(cmd) {
		_ = a.applySettings(cmd) // for the language; mistakes in settings are no reason to keep help back
	}
	h := a.helpFor()
	about, status, _ := strings.Cut(cmd.Long, exitStatusTitle)
	about = strings.TrimRight(h.wrap(strings.TrimSpace(about)), "\n")
	if a.lang() == report.Chinese {
		summariseInChinese(cmd.Root())
	}
	switch {
	case h.short:
		fmt.Fprintf(a.out, "%s\n\n%s\n'%s --help' says more.\n", cmd.Short, cmd.UsageString(), cmd.CommandPath())
		return
	case a.lang() == report.Chinese:
		about = cmd.Short + "\n\n" + about
	}
	fmt.Fprintf(a.out, "%s\n\n%s%s%s", about, cmd.UsageString(), exitStatusTitle, h.wrap(status))
}

// groupFlags makes the help of a command, and of those below it, show its flags in
// groups.
func (a *app) groupFlags(cmd *cobra.Command, groups []flagGroup) {
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := io.WriteString(cmd.OutOrStderr(), a.helpFor().usage(cmd, groups))
		return err
	})
}

// wrap breaks a text that is written for helpWidth columns where the terminal has
// less: paragraphs as a whole, and lines that are indented, such as those of lists,
// below their text.
func (h help) wrap(text string) string {
	if h.width >= helpWidth {
		return text
	}
	var b, paragraph strings.Builder
	flush := func() {
		b.WriteString(wrapWords(paragraph.String(), h.width, 0))
		paragraph.Reset()
	}
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" && line[0] != ' ' {
			paragraph.WriteString(line)
			continue
		}
		flush()
		b.WriteString(wrapWords(line, h.width, textColumn(line)))
	}
	flush()
	return b.String()
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

// flagGroup is a part of a help text: flags that belong together.
type flagGroup struct {
	title string
	names []string
}

// shownShort is how many groups of flags -h shows.
const shownShort = 2

// usage is how a command is called, and its flags, in groups; flags of no group are
// among the last.
func (h help) usage(cmd *cobra.Command, groups []flagGroup) string {
	var b strings.Builder
	b.WriteString("Usage:\n  " + cmd.UseLine() + "\n")
	if cmd.HasAvailableSubCommands() {
		b.WriteString("  " + cmd.CommandPath() + " COMMAND\n")
	}
	if cmd.HasExample() && !h.short {
		b.WriteString("\nExamples:\n" + cmd.Example + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-12s %s\n", sub.Name(), sub.Short)
			}
		}
	}
	flags, s3 := splitFlags(cmd.LocalFlags())
	b.WriteString(h.flags(flags, groups))
	if s3.HasAvailableFlags() && !h.short {
		b.WriteString("\nFlags of object storage (s3://bucket/key):\n" + s3.FlagUsagesWrapped(h.width))
	}
	if cmd.HasAvailableInheritedFlags() && !h.short {
		global, _ := splitFlags(cmd.InheritedFlags())
		b.WriteString("\nGlobal flags:\n" + global.FlagUsagesWrapped(h.width) + "\n'dumptool --help' lists those of object storage (s3://) too.\n")
	}
	if cmd.HasAvailableSubCommands() && !h.short {
		fmt.Fprintf(&b, "\n'%s COMMAND --help' says more about a command.\n", cmd.CommandPath())
	}
	return b.String()
}

// flags are the lines about flags, a block for each group.
func (h help) flags(flags *pflag.FlagSet, groups []flagGroup) string {
	var b strings.Builder
	grouped := map[string]bool{}
	for _, g := range groups {
		for _, name := range g.names {
			grouped[name] = true
		}
	}
	for i, g := range groups {
		set := pflag.NewFlagSet(g.title, pflag.ContinueOnError)
		set.SortFlags = false
		for _, name := range g.names {
			if f := flags.Lookup(name); f != nil {
				set.AddFlag(f)
			}
		}
		if i == len(groups)-1 {
			flags.VisitAll(func(f *pflag.Flag) {
				if !grouped[f.Name] {
					set.AddFlag(f)
				}
			})
		}
		if set.HasAvailableFlags() && !(h.short && i >= shownShort) {
			b.WriteString("\n" + g.title + ":\n" + set.FlagUsagesWrapped(h.width))
		}
	}
	return b.String()
}
