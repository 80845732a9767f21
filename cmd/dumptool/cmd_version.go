package main

import (
	"runtime"
	"runtime/debug"

	"dumptool/internal/report"

	"github.com/spf13/cobra"
)

// version is set by the linker: -ldflags '-X main.version=v1.2.3'. Nothing else writes it.
var version string

const versionName = "version"

func newVersionCommand(a *app) *cobra.Command {
	var json jsonFlag
	cmd := &cobra.Command{
		Use:         versionName,
		Short:       "print the version of dumptool",
		Annotations: chinese("打印 dumptool 的版本"),
		Long:        "version prints the version of dumptool, of Go and of the platform." + exitStatus(),
		Args:        noArgs,
		RunE:        func(*cobra.Command, []string) error { return runVersion(a, json) },
	}
	define(cmd, json.flag("print JSON", "打印 JSON"))
	return cmd
}

// versionFlag adds dumptool --version.
func versionFlag(a *app, root *cobra.Command) {
	wanted := false
	define(root, cmdFlag{"version", yes(&wanted), "print the version of dumptool", "打印 dumptool 的版本", more, 0})
	notSetting(root.Flag("version"))
	withoutIt := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if wanted {
			return runVersion(a, false)
		}
		return withoutIt(cmd, args)
	}
}

func runVersion(a *app, json jsonFlag) error {
	info, _ := debug.ReadBuildInfo()
	v := report.Version{Version: buildVersion(version, info), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	return printResult(a, json.format(), v, report.Options{})
}

// toolName names the program and its version, for files that it writes.
func toolName() string {
	info, _ := debug.ReadBuildInfo()
	return "dumptool " + buildVersion(version, info)
}

// buildVersion returns the version set by the linker, else what the go command knows about the
// source, else "devel".
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
