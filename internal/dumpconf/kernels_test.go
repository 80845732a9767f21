package dumpconf

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseKernel(t *testing.T) {
	for text, want := range map[string]Kernel{
		"Conv2D":                   {Kind: KernelType, Pattern: "Conv2D"},
		"":                         {Kind: KernelType},
		" Conv 2D ":                {Kind: KernelType, Pattern: "Conv2D"},
		`"Conv2D"`:                 {Kind: KernelType, Pattern: "Conv2D"},
		"Default/Conv-op12":        {Kind: KernelName, Pattern: "Default/Conv-op12"},
		"Conv-op12":                {Kind: KernelName, Pattern: "Conv-op12"},
		"Conv-o12":                 {Kind: KernelType, Pattern: "Conv-o12"},
		"a/b":                      {Kind: KernelName, Pattern: "a/b"},
		"name-regex(Default/.+)":   {Kind: KernelRegex, Pattern: "Default/.+"},
		"name-regex( a b )":        {Kind: KernelRegex, Pattern: "ab"},
		"name-regex()":             {Kind: KernelRegex},
		"name-regex((a))":          {Kind: KernelRegex, Pattern: "(a)"},
		"name-regex(a":             {Kind: KernelType, Pattern: "name-regex(a", Unclosed: true},
		"name-regex(a/b":           {Kind: KernelName, Pattern: "name-regex(a/b", Unclosed: true},
		"Name-Regex(a)":            {Kind: KernelType, Pattern: "Name-Regex(a)"},
		"x name-regex(a)":          {Kind: KernelType, Pattern: "xname-regex(a)"},
		"Default/name-regex(a)-op": {Kind: KernelName, Pattern: "Default/name-regex(a)-op"},
	} {
		want.Text = text
		if diff := cmp.Diff(want, ParseKernel(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
