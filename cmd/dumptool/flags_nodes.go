package main

import (
	"github.com/spf13/pflag"

	"dumptool/internal/dumpdir"
	"dumptool/internal/sidefile"
)

// nodeFlags are the flags of HPAA's scripts that give operators other names and leave
// some out.
type nodeFlags struct {
	nameMap           string
	skipKeys, exclude []string
}

func (o *nodeFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.nameMap, "map-node-dict", "", "names that differ: `TEXT` such as '{\"cpu_name\":\"npu_name\"}', or @FILE; @FILE.yaml is a data mapping of msprobe, npu_name: cpu_name")
	flags.StringArrayVar(&o.skipKeys, "skip-keys", nil, "skip operators whose name contains one of `KEYS`, with commas between them")
	flags.StringArrayVar(&o.exclude, "exclude-node-list", nil, "skip operators of these `NAMES`, or re:PATTERN")
	harmless(flags, "skip-keys", "exclude-node-list")
}

// left are the operators that are left out.
func (o *nodeFlags) left() (skipKeys []string, exclude *dumpdir.NameSet, err error) {
	if skipKeys, err = sidefile.ParseList(o.skipKeys...); err != nil {
		return nil, nil, usagef("--skip-keys: %w", err)
	}
	exclude, err = nameSet("--exclude-node-list", o.exclude, nil)
	return skipKeys, exclude, err
}

// filter is what the flags say of operators that are known by their names alone.
func (o *nodeFlags) filter() (*dumpdir.NodeFilter, error) {
	skipKeys, exclude, err := o.left()
	if err != nil {
		return nil, err
	}
	files, err := (&sidefile.Files{NameMap: o.nameMap}).Load()
	if err != nil {
		return nil, compareError(err)
	}
	return &dumpdir.NodeFilter{Map: files.NameMap, SkipKeys: skipKeys, Exclude: exclude}, nil
}
