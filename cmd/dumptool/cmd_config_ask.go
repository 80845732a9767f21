package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/dumpconf"
	"dumptool/internal/report"
)

// askFields asks for the fields of a profile that matter. Questions go to
// stderr, as stdout is for the configuration.
func (a *app) askFields(ctx context.Context, p *dumpconf.Profile, lang report.Lang) (dumpconf.Values, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// A read cannot be interrupted: it goes on alone when ctx is done.
	lines := make(chan logLine)
	go readLines(ctx, a.streams.In, lines)
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
func (a *app) askField(ctx context.Context, field *dumpconf.Field, lang report.Lang, lines <-chan logLine) ([]string, error) {
	question := lang.Text(field.Question)
	if len(field.Default) > 0 {
		question += " [" + strings.Join(field.Default, ",") + "]"
	}
	for {
		fmt.Fprintf(a.streams.Err, "%s ", question)
		var l logLine
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case l = <-lines:
		}
		if l.err != nil {
			return nil, fmt.Errorf("cannot read stdin: %w", l.err)
		}
		if l.last && l.text == "" {
			fmt.Fprintln(a.streams.Err)
			return nil, errNoAnswer
		}
		answer := field.Split(l.text)
		bad := slices.IndexFunc(answer, func(v string) bool { return field.Values != nil && !slices.Contains(field.Values, v) })
		if bad < 0 {
			return answer, nil
		}
		a.msg.Warnf("%q is not one of %s", answer[bad], strings.Join(field.Values, ", "))
	}
}
