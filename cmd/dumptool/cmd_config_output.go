package main

import (
	"errors"
	"io/fs"

	"github.com/spf13/pflag"

	"dumptool/internal/dumpconf"
	"dumptool/internal/report"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

// configOutput are the flags about where a configuration goes.
type configOutput struct {
	out   string
	force bool
}

func (o *configOutput) addFlags(flags *pflag.FlagSet) {
	outFlag(flags, &o.out, "", "write to `FILE`, not to stdout")
	flags.BoolVar(&o.force, "force", false, "replace the file of -out")
}

// check refuses to replace a file, and in any case one of the inputs.
func (o *configOutput) check(inputs ...string) error {
	if o.out == "" {
		if o.force {
			return usagef("--force goes with -out only")
		}
		return nil
	}
	if err := safefile.CheckOutput(o.out, inputs...); err != nil {
		return asUsage(err)
	}
	if _, err := store.Lstat(o.out); err == nil && !o.force {
		return o.isThere()
	}
	return nil
}

// isThere is the error for a file that would be replaced.
func (o *configOutput) isThere() error {
	return hintf(usagef("%s is there already", o.out), "--force replaces it")
}

// writeConfig writes a configuration that was made and returns the check of
// it, under the name that it has there.
func (a *app) writeConfig(o *configOutput, text []byte, opt dumpconf.Options) (*dumpconf.Report, error) {
	r := dumpconf.Check(o.out, text, opt)
	if first := r.Refused(); first != nil {
		return nil, usagef("%s: %s", report.ConfigName(o.out), a.inLang(first.Message))
	}
	if o.out == "" {
		return r, a.show(text)
	}
	write := safefile.WriteNewFile
	if o.force {
		write = safefile.WriteFile
	}
	err := write(o.out, text)
	switch {
	case errors.Is(err, fs.ErrExist): // by now
		return nil, o.isThere()
	case err != nil:
		return nil, safefile.WithPath(o.out, err)
	}
	a.msg.Infof("%s is written", o.out)
	return r, nil
}

// show prints a result, before the messages about it that follow.
func (a *app) show(text []byte) error {
	a.out.Write(text)
	return a.out.Flush()
}
