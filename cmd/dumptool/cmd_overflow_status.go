package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"dumptool/internal/report"
	"dumptool/internal/statusreg"
	"dumptool/internal/ui"
)

type overflowStatusOptions struct {
	register statusreg.Register
	json     jsonFlag
	exitZero exitZero
}

func newOverflowStatusCommand(a *app) *cobra.Command {
	opts := &overflowStatusOptions{register: statusreg.AICore}
	cmd := &cobra.Command{
		Use:         "status [VALUE]...",
		Short:       "explain status words and error registers",
		Annotations: chinese("解释状态字和错误寄存器"),
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
Ascend 950), numeric, unofficial and note.

The exit status is 1 when a value has a numeric cause: for aicore, dha and
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
	opts.define(cmd)
	return cmd
}

func (o *overflowStatusOptions) define(cmd *cobra.Command) {
	register := &value[statusreg.Register]{to: &o.register, kind: "string", given: o.register.String(), read: func(text string) (statusreg.Register, error) {
		r, ok := statusreg.ParseRegister(text)
		if !ok {
			return r, wantf("no such register, see 'dumptool help overflow status'")
		}
		return r, nil
	}}
	for _, r := range statusreg.Registers() {
		register.known = append(register.known, r.String())
	}
	define(cmd, cmdFlag{"register", register, "register `NAME` that plain numbers are values of", "纯数值所属的寄存器 `NAME`", choosing, safe},
		o.json.flag("print a JSON list", "打印一个 JSON 列表"), o.exitZero.flag("numeric causes", "数值原因"))
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
	if len(args) == 0 {
		args = []string{stdinArg}
	}
	// All mistakes show before the first result.
	values := make([][]statusreg.Found, len(args))
	for i, arg := range args {
		var err error
		if arg == stdinArg {
			continue
		}
		if values[i], err = statusreg.ParseText(arg); err != nil {
			return asUsage(err)
		}
	}
	list := &report.StatusList{Text: a.text(), JSON: bool(opts.json), W: a.out, Register: opts.register}
	err := a.explainAll(ctx, list, args, values)
	if err := cmp.Or(err, list.Close()); err != nil {
		return err
	}
	return a.conclude(opts.exitZero.of(list.Outcome()))
}

// stdinArg stands for the standard input.
const stdinArg = "-"

// explainAll explains the values of all arguments.
func (a *app) explainAll(ctx context.Context, list *report.StatusList, args []string, values [][]statusreg.Found) error {
	for i, arg := range args {
		err := list.Explain(0, values[i])
		if arg == stdinArg {
			err = a.explainLines(ctx, list)
		}
		if err = cmp.Or(err, a.out.Flush()); err != nil {
			return err
		}
	}
	return nil
}

// explainLines explains the values in the lines of the standard input.
func (a *app) explainLines(ctx context.Context, list *report.StatusList) error {
	if a.streams.InTTY {
		a.infof("reading values from the terminal, Ctrl-D ends them")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := ui.ReadLines(ctx, a.streams.In)
	var finder statusreg.Finder
	for {
		line, err := lines.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		list.Lines++
		if line.Cut {
			a.warnf("stdin: line %d is longer than %d bytes: the rest of it is left out", list.Lines, ui.MaxLine)
		}
		err = list.Explain(list.Lines, finder.Find(line.Text))
		if err = cmp.Or(err, a.out.Flush()); err != nil { // somebody may be watching a log
			return err
		}
	}
}
