package main

import (
	"fmt"
	"strconv"
	"strings"
)

// deviceIDs are the ids of devices on a command line. It has the methods of a
// flag value.
type deviceIDs struct{ ids []uint64 }

// String implements the value of a flag.
func (d *deviceIDs) String() string { return strings.Join(d.GetSlice(), ",") }

// Type implements the value of a flag: it names the value in the help.
func (d *deviceIDs) Type() string { return "IDS" }

// Set implements the value of a flag.
func (d *deviceIDs) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		if err := d.Append(part); err != nil {
			return err
		}
	}
	return nil
}

// Append implements pflag.SliceValue.
func (d *deviceIDs) Append(text string) error {
	id, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31)
	if err != nil {
		return fmt.Errorf("ids of devices are numbers such as 0,1 and have no sign, found %q", text)
	}
	d.ids = append(d.ids, id)
	return nil
}

// Replace implements pflag.SliceValue.
func (d *deviceIDs) Replace(texts []string) error {
	d.ids = nil
	return d.Set(strings.Join(texts, ","))
}

// GetSlice implements pflag.SliceValue.
func (d *deviceIDs) GetSlice() []string {
	var out []string
	for _, id := range d.ids {
		out = append(out, strconv.FormatUint(id, 10))
	}
	return out
}
