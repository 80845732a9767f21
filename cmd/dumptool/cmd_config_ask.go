package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"dumptool/internal/dumpconf"
	"dumptool/internal/report"
	"dumptool/internal/ui"
)

// askFields asks for the fields of a profile that matter. Questions go to
// stderr, as stdout is for the configuration.
func (a *app) askFields(ctx context.Context, p *dumpconf.Profile, lang report.Lang) (dumpconf.Values, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := ui.ReadLines(ctx, a.streams.In)
	values := dumpconf.Values{}
	for i := range p.Fields {
		field := &p.Fields[i]
		if field.Question.EN == "" {
			continue
		}
		answer, err := a.askField(ctx, field, lang, lines)
		if err != nil {
			return nil, err
		}
		if answer != nil {
			values[field.Key] = answer
		}
	}
	return values, nil
}

// errNoAnswer is that of questions without an answer.
var errNoAnswer = errors.New("the answers ended before the questions")

// askField asks until an answer can be used. nil stands for the default.
func (a *app) askField(ctx context.Context, field *dumpconf.Field, lang report.Lang, lines *ui.Lines) ([]string, error) {
	question := lang.Text(field.Question)
	if len(field.Default) > 0 {
		question += " [" + strings.Join(field.Default, ",") + "]"
	}
	for {
		fmt.Fprintf(a.streams.Err, "%s ", question)
		line, err := lines.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			fmt.Fprintln(a.streams.Err)
			return nil, errNoAnswer
		case err != nil:
			return nil, err
		}
		answer := field.Split(line.Text)
		bad := slices.IndexFunc(answer, func(v string) bool { return field.Values != nil && !slices.Contains(field.Values, v) })
		if bad < 0 {
			return answer, nil
		}
		a.msg.Warnf("%q is not one of %s", answer[bad], strings.Join(field.Values, ", "))
	}
}
