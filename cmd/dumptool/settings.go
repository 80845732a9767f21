package main

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/config"
	"dumptool/internal/lang"
)

const (
	configFlag = "config"
	helpFlag   = "help"

	// noSettingsKey annotates commands that must work whatever the configuration contains.
	noSettingsKey = "dumptool_no_settings"
	// notSettingKey annotates flags that environment and files cannot set.
	notSettingKey = "dumptool_not_setting"
	// exclusiveKey annotates a flag with the names of flags that exclude it.
	exclusiveKey = "dumptool_exclusive"
)

// withoutSettings returns the annotations of a command that ignores settings.
func withoutSettings() map[string]string { return map[string]string{noSettingsKey: "true"} }

// takesSettings reports whether environment and files can set the flags of cmd. Cobra's completion
// commands, such as __complete, have no flags of ours.
func takesSettings(cmd *cobra.Command) bool {
	return cmd.Annotations[noSettingsKey] == "" && !strings.HasPrefix(cmd.Name(), "__")
}

// makeExclusive makes flags mutually exclusive. One on the command line overrides settings of the
// others.
func makeExclusive(cmd *cobra.Command, names ...string) {
	cmd.MarkFlagsMutuallyExclusive(names...)
	for _, name := range names {
		f := cmd.Flag(name)
		f.Annotations[exclusiveKey] = append(f.Annotations[exclusiveKey], names...)
	}
}

// applySettings sets the flags of cmd that the user did not set, from environment and files.
func (a *app) applySettings(cmd *cobra.Command) error {
	opt := a.settings
	opt.File = a.settingsFile()
	settings, err := config.Load(opt)
	if err == nil {
		err = settings.Check(func() config.Schema { return settingsSchema(a.newWholeTree(cmd.Root())) })
	}
	if err != nil {
		return settingsError(err)
	}
	if err := a.checkEnvironment(cmd); err != nil {
		return err
	}
	of, path := flagOwners(cmd), commandPath(cmd)
	lookup := func(f *pflag.Flag) (config.Value, bool) {
		v, ok := settings.Lookup(path, f.Name)
		if !ok {
			v, ok = settings.Lookup(of[f], f.Name)
		}
		if !ok && isS3(f) {
			v, ok = settings.Lookup([]string{s3Group}, strings.TrimPrefix(f.Name, s3Prefix))
		}
		return v, ok
	}
	return setFlags(cmd, lookup)
}

// settingsFile returns the configuration file that the user names, empty for none.
func (a *app) settingsFile() string {
	return cmp.Or(a.global.config, a.getenv(config.EnvName(nil, configFlag)))
}

// newWholeTree returns the command tree with all commands.
func (a *app) newWholeTree(root *cobra.Command) *cobra.Command {
	if !a.isOnlyWord {
		return root
	}
	return newRootCommand(newApp(a.streams))
}

// setFlags sets flags of cmd from lookup, except flags that are set already, also by another spelling.
func setFlags(cmd *cobra.Command, lookup func(*pflag.Flag) (config.Value, bool)) (err error) {
	given := map[string]bool{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { given[f.Name] = f.Changed })
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		others := f.Annotations[exclusiveKey]
		if s, ok := f.Value.(*spelling); ok {
			others = s.others()
		}
		hidden := slices.ContainsFunc(others, func(name string) bool { return given[name] })
		if err != nil || given[f.Name] || hidden || !isSetting(f) {
			return
		}
		if v, ok := lookup(f); ok {
			err = setFlag(f, v)
		}
	})
	return err
}

// warnOfUnread warns of environment variables that no flag has, and of a configuration file in the working folder, which
// is not read. Parts of a run (--run) leave these warnings to the command that began the run.
func (a *app) warnOfUnread(cmd *cobra.Command) {
	opt := a.settings
	if run := cmd.Flags().Lookup(runName); run != nil && run.Value.String() != "" {
		return
	}
	for _, name := range a.unknownVariables {
		a.warnf("environment %s: no flag has this variable", name)
	}
	path := opt.IgnoredFile()
	if path == "" || a.settingsFile() != "" {
		return
	}
	use := lang.Say("--config %s uses it", path)
	if opt.User != "" {
		use = lang.Say("--config %s uses it, or move it to %s", path, opt.User)
	}
	a.warnf("%s in the working folder is not read, as it may have come with the dumps: %s", path, use)
}

// checkEnvironment returns an error for a variable of a removed flag. All commands are only made
// if a variable is none of cmd.
func (a *app) checkEnvironment(cmd *cobra.Command) error {
	of := variablesOf(cmd)
	a.unknownVariables = slices.DeleteFunc(a.settings.Variables(), func(name string) bool { return slices.Contains(of, name) })
	if len(a.unknownVariables) == 0 {
		return nil
	}
	of = nil
	for _, c := range withSubcommands(a.newWholeTree(cmd.Root())) {
		of = append(of, variablesOf(c)...)
	}
	a.unknownVariables = slices.DeleteFunc(a.unknownVariables, func(name string) bool { return slices.Contains(of, name) })
	for _, name := range a.unknownVariables {
		for key := range removed {
			words := strings.Fields(key)
			if last := len(words) - 1; config.EnvName(words[:last], strings.TrimLeft(words[last], "-")) == name {
				return removedSetting("environment "+name, append(words[:last:last], strings.TrimLeft(words[last], "-")))
			}
		}
	}
	return nil
}

// variablesOf returns the environment variables of the flags of a command.
func variablesOf(cmd *cobra.Command) []string {
	names := []string{config.EnvName(nil, configFlag)}
	global := cmd.InheritedFlags() // also merges them into cmd.Flags
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if isSetting(f) {
			names = append(names, config.EnvName(commandPath(cmd), f.Name))
		}
	})
	global.VisitAll(func(f *pflag.Flag) { names = append(names, config.EnvName(nil, f.Name)) })
	return names
}

// withSubcommands returns a command and all commands below it.
func withSubcommands(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		all = append(all, withSubcommands(sub)...)
	}
	return all
}

// settingsError gives a wrong configuration its exit status and a hint.
func settingsError(err error) error {
	if unknown, ok := errors.AsType[*config.UnknownError](err); ok {
		if gone := removedSetting(unknown.Source, unknown.Path); gone != nil {
			return gone
		}
		if unknown.Suggestion != "" {
			err = hintf(err, "did you mean %s?", unknown.Suggestion)
		}
	}
	return &codedError{exitUsage, err}
}

// setFlag sets f to a value from environment or file.
func setFlag(f *pflag.Flag, v config.Value) error {
	var err error
	slice, isSlice := f.Value.(pflag.SliceValue)
	switch {
	case v.List != nil && isSlice:
		err = slice.Replace(v.List)
	case v.List != nil:
		err = lang.Errorf("takes one value, not a list")
	default:
		err = f.Value.Set(flagValue(f, v.Text))
	}
	if err != nil {
		return &codedError{exitUsage, lang.Errorf("%s: invalid value %q: %w", v.Source, v.Text, err)}
	}
	f.Changed = true
	return nil
}

// excludeFromSettings keeps environment and files from setting a flag.
func excludeFromSettings(f *pflag.Flag) { f.Annotations[notSettingKey] = []string{"true"} }

// isSetting reports whether environment and files can set a flag. The file cannot name itself.
func isSetting(f *pflag.Flag) bool {
	return f.Name != helpFlag && f.Name != configFlag && f.Annotations[notSettingKey] == nil
}

// flagOwners maps each flag of cmd to the path of the command that defines it: cmd or one above it.
// Global flags have none.
func flagOwners(cmd *cobra.Command) map[*pflag.Flag][]string {
	of := map[*pflag.Flag][]string{}
	for c := cmd; c.HasParent(); c = c.Parent() {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if of[f] == nil {
				of[f] = commandPath(c)
			}
		})
	}
	return of
}

// commandPath returns the words of a command without the program.
func commandPath(cmd *cobra.Command) []string {
	return strings.Fields(cmd.CommandPath())[1:]
}

// settingsSchema returns the names of all settings of cmd and the commands below it. Global flags can also
// be set per command.
func settingsSchema(cmd *cobra.Command) config.Schema {
	s := config.Schema{Commands: map[string]config.Schema{}}
	add := func(f *pflag.Flag) {
		if isSetting(f) {
			s.Flags = append(s.Flags, f.Name)
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	for _, sub := range cmd.Commands() {
		if takesSettings(sub) {
			s.Commands[sub.Name()] = settingsSchema(sub)
		}
	}
	if !cmd.HasParent() {
		s.Commands[s3Group] = s3Schema(cmd)
	}
	return s
}

// s3Schema returns the settings of object storage, which form their own group.
func s3Schema(root *cobra.Command) config.Schema {
	var s config.Schema
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if isS3(f) {
			s.Flags = append(s.Flags, strings.TrimPrefix(f.Name, s3Prefix))
		}
	})
	return s
}
