package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"dumptool/internal/report"
	"dumptool/internal/statusreg"
)

type overflowStatusOptions struct {
	register string
	lang     report.Lang
	json     bool
}

func newOverflowStatusCommand(a *app) *cobra.Command {
	opts := new(overflowStatusOptions)
	cmd := &cobra.Command{
		Use:   "status [VALUE]...",
		Short: "explain status words and error registers",
		Long: `status says what the bits of status words and error registers mean. A VALUE is a
number, decimal or hexadecimal after 0x, or a piece of a log that holds some,
such as 'errcode:(0, 0x8000, 0)', whose words are put together. Without VALUE,
and for -, the lines of stdin are searched: logs of the runtime (errcode,
AIC_ERROR, error code, dha status), overflow records as JSON or text, and lines
of plain numbers; everything else in them is left alone.

--register says what plain numbers are. Values that a log names are those of
the register that it names.

` + registerList() + `
With --json the result is a list of objects with the keys value, register, bits
and unknown; value, mask and unknown are strings in hex, and unknown holds the
bits that no public source explains. Each of bits has the keys mask, name, en, zh
and advice, and where it applies code (of a field of bits), number (in logs of
Ascend 950), numeric, unofficial and note. Advice and notes are in the language
of --lang.

The exit status is 1 when a value tells of a numeric cause: for aicore, dha and
l2 that is any value but 0, for other registers a bit or code that is about the
numbers that were computed. Other errors, such as those of transfers, exit
with 0.`,
		Example: `  dumptool overflow status 272
  dumptool overflow status --register sdma --lang zh 11
  dumptool overflow status 'errcode:(0, 0x8000, 0)'
  grep -h aicore ~/ascend/log/*.log | dumptool overflow status --json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runOverflowStatus(cmd.Context(), a, opts, args) },
	}
	cmd.Long += exitStatus(exitFound, exitNothing, exitInterrupted)
	opts.addFlags(cmd)
	return cmd
}

func (o *overflowStatusOptions) addFlags(cmd *cobra.Command) {
	var names []string
	for _, r := range statusreg.Registers() {
		names = append(names, r.String())
	}
	cmd.Flags().StringVar(&o.register, "register", statusreg.AICore.String(), "register `NAME` that plain numbers are values of")
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON list")
	langFlag(cmd, &o.lang)
	completeValues(cmd, "register", names)
}

// registerList returns the part of the help that lists the registers.
func registerList() string {
	var b strings.Builder
	b.WriteString("Registers:\n")
	for _, r := range statusreg.Registers() {
		title, _, _ := strings.Cut(r.Title().EN, ";")
		fmt.Fprintf(&b, "  %-15s %s\n", r, title)
	}
	return b.String()
}

func runOverflowStatus(ctx context.Context, a *app, opts *overflowStatusOptions, args []string) error {
	register, ok := statusreg.ParseRegister(opts.register)
	if !ok {
		return usagef("--register %s: no such register, see 'dumptool help overflow status'", opts.register)
	}
	if len(args) == 0 {
		args = []string{stdinArg}
	}
	// All mistakes show before the first result.
	values := make([][]statusreg.Found, len(args))
	for i, arg := range args {
		var err error
		if values[i], err = parseStatus(arg); err != nil {
			return err
		}
	}
	p := &statusPrinter{app: a, json: opts.json, register: register}
	p.text = report.StatusText{Lang: opts.lang, Width: a.streams.OutWidth}
	err := p.all(ctx, args, values)
	p.close()
	switch {
	case err != nil:
		return err
	case p.values == 0:
		return nothingf("no value found in %s", counted(p.lines, "line"))
	case p.found:
		return reported(foundf("a value tells of a numeric cause"))
	}
	return nil
}

// stdinArg stands for the standard input.
const stdinArg = "-"

// parseStatus reads an argument: a number, or a piece of a log with values.
func parseStatus(arg string) ([]statusreg.Found, error) {
	if arg == stdinArg {
		return nil, nil
	}
	v, err := statusreg.ParseValue(arg)
	if err == nil {
		return []statusreg.Found{{Value: v}}, nil
	}
	if found := statusreg.FindInText(arg); len(found) > 0 {
		return found, nil
	}
	if strings.Contains(strings.ToLower(arg), "errcode") {
		_, err = statusreg.ParseErrcode(arg)
	}
	if strings.HasPrefix(arg, "-") {
		err = fmt.Errorf("value %q: registers have no sign", arg)
	}
	return nil, usagef("%s", strings.TrimPrefix(err.Error(), "statusreg: "))
}

// statusPrinter prints values as they come.
type statusPrinter struct {
	*app
	json     bool
	register statusreg.Register // of values that do not tell
	text     report.StatusText
	lines    int // of stdin
	values   int
	found    bool // a numeric cause
}

// all prints the values of all arguments.
func (p *statusPrinter) all(ctx context.Context, args []string, values [][]statusreg.Found) error {
	for i, arg := range args {
		if arg == stdinArg {
			if err := p.stdin(ctx); err != nil {
				return err
			}
			continue
		}
		if err := p.print("", values[i]); err != nil {
			return err
		}
	}
	return nil
}

// maxLogLine is how many bytes of a line are searched.
const maxLogLine = 1 << 20

// stdin prints the values in the lines of the standard input.
func (p *statusPrinter) stdin(ctx context.Context) error {
	if f, ok := p.streams.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.msg.Infof("reading values from the terminal, Ctrl-D ends them")
	}
	// A read cannot be interrupted: it goes on alone when ctx is done.
	lines := make(chan logLine)
	go readLines(ctx, p.streams.In, lines)
	var finder statusreg.Finder
	for {
		var l logLine
		select {
		case <-ctx.Done():
			return ctx.Err()
		case l = <-lines:
		}
		if l.err != nil {
			return fmt.Errorf("cannot read stdin: %w", l.err)
		}
		if !l.last || l.text != "" {
			p.lines++
			if l.cut {
				p.msg.Warnf("stdin: line %d is longer than %d bytes: the rest of it is left out", p.lines, maxLogLine)
			}
			if err := p.print(p.text.Line(p.lines), finder.Find(l.text)); err != nil {
				return err
			}
		}
		if l.last {
			return nil
		}
	}
}

// logLine is a line without its newline.
type logLine struct {
	text string
	cut  bool // there was more of it
	last bool // nothing follows it
	err  error
}

// readLines sends the lines of r. Text behind the last newline, often none, is
// a line too.
func readLines(ctx context.Context, r io.Reader, lines chan<- logLine) {
	in := bufio.NewReader(r)
	for {
		l := readLine(in)
		select {
		case lines <- l:
		case <-ctx.Done():
			return
		}
		if l.last {
			return
		}
	}
}

// readLine reads one line, of which it keeps at most maxLogLine bytes.
func readLine(in *bufio.Reader) logLine {
	var l logLine
	var text []byte
	for {
		part, err := in.ReadSlice('\n')
		if err == nil {
			part = part[:len(part)-1]
		}
		room := min(len(part), maxLogLine-len(text))
		text = append(text, part[:room]...)
		l.cut = l.cut || room < len(part)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			l.last = true
			if !errors.Is(err, io.EOF) {
				l.err = err
			}
		}
		l.text = string(text)
		return l
	}
}

// print prints values that stand in one place.
func (p *statusPrinter) print(where string, values []statusreg.Found) error {
	for _, v := range values {
		if v.Register == statusreg.None {
			v.Register = p.register
		}
		res := statusreg.Decode(v.Register, v.Value)
		p.found = p.found || numericCause(&res)
		var form []byte
		switch {
		case p.json && p.values == 0:
			form = report.AppendStatusJSON([]byte("[\n"), &res, p.text.Lang)
		case p.json:
			form = report.AppendStatusJSON([]byte(",\n"), &res, p.text.Lang)
		default:
			form = p.text.Append(nil, where, &res)
		}
		p.values++
		if _, err := p.out.Write(form); err != nil {
			return fmt.Errorf("cannot write the results: %w", err)
		}
	}
	if len(values) == 0 {
		return nil
	}
	if err := p.out.Flush(); err != nil { // somebody may be watching a log
		return fmt.Errorf("cannot write the results: %w", err)
	}
	return nil
}

// close ends the list.
func (p *statusPrinter) close() {
	switch {
	case !p.json:
	case p.values == 0:
		fmt.Fprintln(p.out, "[]")
	default:
		fmt.Fprintln(p.out, "\n]")
	}
}

// numericCause reports whether a value says that something is wrong with the
// numbers that were computed. In an overflow record any value but 0 of these
// units is an overflow, documented or not.
func numericCause(r *statusreg.Result) bool {
	switch r.Register {
	case statusreg.AICore, statusreg.DHA, statusreg.L2:
		return !r.Value.IsZero()
	}
	return slices.ContainsFunc(r.Entries, func(e statusreg.Entry) bool { return e.Numeric })
}
