package dumpdir

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/lang"
)

// Coordinates say which round a folder or a tensor belongs to. Each is empty where
// nothing says it. Start times, process ids and hosts are no part of them, since
// they differ between two runs of one network.
type Coordinates struct {
	// Rank is the rank, else the device.
	Rank string `json:"rank,omitempty"`
	// Step is the step, iteration or count of executions.
	Step string `json:"step,omitempty"`
	// Graph is the graph id or model id.
	Graph string `json:"graph,omitempty"`
	// Model is the name of the network or model.
	Model string `json:"model,omitempty"`
	// Folder is what is left of the path where folders that no other coordinate
	// stands for hold the same tensors several times.
	Folder string `json:"folder,omitempty"`
}

// coordinates are the fields of Coordinates, in the order in which rounds are
// sorted.
var coordinates = [...]struct {
	name, zh string
	of       func(*Coordinates) *string
}{
	{"rank", "rank", func(c *Coordinates) *string { return &c.Rank }},
	{"step", "step", func(c *Coordinates) *string { return &c.Step }},
	{"graph", "图", func(c *Coordinates) *string { return &c.Graph }},
	{"model", "模型", func(c *Coordinates) *string { return &c.Model }},
	{"folder", "目录", func(c *Coordinates) *string { return &c.Folder }},
}

// Known reports whether any coordinate but the folder is known.
func (c Coordinates) Known() bool {
	return c.withoutFolder() != Coordinates{}
}

// IsZero reports whether documents leave the coordinates out.
func (c Coordinates) IsZero() bool { return !c.Known() }

func (c Coordinates) withoutFolder() Coordinates {
	c.Folder = ""
	return c
}

// String returns the coordinates that are known, such as rank 0 step 3; empty for
// none.
func (c Coordinates) String() string { return c.Text().EN }

// Text returns the coordinates that are known in both languages.
func (c Coordinates) Text() lang.Text {
	var en, zh []string
	for _, one := range coordinates {
		if value := *one.of(&c); value != "" {
			en, zh = append(en, one.name+" "+value), append(zh, one.zh+" "+value)
		}
	}
	return lang.Text{EN: strings.Join(en, " "), ZH: strings.Join(zh, " ")}
}

// ShortNames names rounds by the coordinates in which they differ, such as rank 1
// step 2; a folder is its own name. One round has an empty name.
func ShortNames(all []Coordinates) []string {
	names := make([]string, len(all))
	for _, one := range coordinates {
		differ := slices.ContainsFunc(all, func(c Coordinates) bool { return *one.of(&c) != *one.of(&all[0]) })
		for i := range all {
			switch value := *one.of(&all[i]); {
			case !differ || value == "":
			case one.name == "folder":
				names[i] += " " + value
			default:
				names[i] += " " + one.name + " " + value
			}
		}
	}
	for i := range names {
		names[i] = strings.TrimPrefix(names[i], " ")
	}
	return names
}

// Compare orders coordinates by rank, step, graph, model and folder; numbers are
// compared as such, and what is not known comes first.
func (c Coordinates) Compare(d Coordinates) int {
	for _, one := range coordinates {
		if r := lang.CompareNatural(*one.of(&c), *one.of(&d)); r != 0 {
			return r
		}
	}
	return 0
}

// parseNumber returns the number that a coordinate is.
func parseNumber(value string) (uint64, bool) {
	n, err := strconv.ParseUint(value, 10, 64)
	return n, err == nil
}

// number returns a number without leading zeros.
func number(digits string) string {
	return cmp.Or(strings.TrimLeft(digits, "0"), "0")
}
