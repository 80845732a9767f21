package main

import (
	"runtime"
	"runtime/debug"

	"dumptool"
	"dumptool/internal/report"

	"github.com/spf13/cobra"
)

// The linker sets commit, and version in a build that has a version of its own:
// -ldflags '-X main.version=v1.2.3'. Nothing else writes them.
var version, commit string

const versionName = "version"

func newVersionCommand(a *app) *cobra.Command {
	var json jsonFlag
	cmd := &cobra.Command{
		Use:   versionName,
		Short: "print the version of dumptool",
		Long:  "version prints the version of dumptool, of Go and of the platform." + exitStatus(),
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return runVersion(a, json) },
	}
	addFlags(cmd, json.flag("print JSON"))
	return cmd
}

// versionFlag adds dumptool --version.
func versionFlag(a *app, root *cobra.Command) {
	wanted := false
	addFlags(root, cmdFlag{"version", boolSwitch(&wanted), "print the version of dumptool", groupMore, 0})
	excludeFromSettings(root.Flag("version"))
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
	v := report.Version{Version: buildVersion(version, dumptool.Release(), commit, info), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	return printResult(a, json.format(), v, report.Options{})
}

// toolName names the program and its version, for files that it writes.
func toolName() string {
	info, _ := debug.ReadBuildInfo()
	return "dumptool " + buildVersion(version, dumptool.Release(), commit, info)
}

// buildVersion returns the version set by the linker, else the release and the commit of the source:
// 0.2.0+0123456789ab, with .dirty behind it if files were changed. Without a commit it is the release.
func buildVersion(linked, release, commit string, info *debug.BuildInfo) string {
	if linked != "" {
		return linked
	}
	if commit == "" && info != nil {
		commit = revision(info)
	}
	if commit == "" {
		return release
	}
	return release + "+" + commit
}

// revision returns the commit that the go command knows, empty for none.
func revision(info *debug.BuildInfo) (commit string) {
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ".dirty"
		}
	}
	if commit == "" {
		return ""
	}
	return commit + dirty
}
