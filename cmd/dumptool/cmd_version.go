package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// version is set by the linker: -ldflags '-X main.version=v1.2.3'. Nothing
// else writes to it.
var version string

type versionOptions struct {
	json bool
}

func newVersionCommand(a *app) *cobra.Command {
	opts := new(versionOptions)
	cmd := &cobra.Command{
		Use:   "version",
		Short: "print the version of dumptool",
		Long:  "version prints the version of dumptool, of Go and of the platform." + exitStatus(),
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runVersion(cmd.Context(), a, opts) },
	}
	opts.addFlags(cmd.Flags())
	return cmd
}

func (o *versionOptions) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.json, "json", false, "print JSON")
}

func runVersion(_ context.Context, a *app, opts *versionOptions) error {
	info, _ := debug.ReadBuildInfo()
	v := struct {
		Version string `json:"version"`
		Go      string `json:"go"`
		OS      string `json:"os"`
		Arch    string `json:"arch"`
	}{buildVersion(version, info), runtime.Version(), runtime.GOOS, runtime.GOARCH}
	if opts.json {
		return json.NewEncoder(a.out).Encode(v)
	}
	_, err := fmt.Fprintf(a.out, "dumptool %s %s %s/%s\n", v.Version, v.Go, v.OS, v.Arch)
	return err
}

// toolName names the program and its version, for files that it writes.
func toolName() string {
	info, _ := debug.ReadBuildInfo()
	return "dumptool " + buildVersion(version, info)
}

// buildVersion returns the version the linker was told, else what the go
// command knows about the source, else "devel".
func buildVersion(linked string, info *debug.BuildInfo) string {
	if linked != "" {
		return linked
	}
	if info == nil {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	var revision, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if revision == "" {
		return "devel"
	}
	return revision + dirty
}
