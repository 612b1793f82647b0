#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Fetches one package into this folder by the index of one suite:
# apt-download.sh PACKAGE ARCHITECTURE ARCHIVE SUITE [OPTIONS OF THE SOURCE].
# Nothing of the machine's own apt is read but its keys.
set -euo pipefail
package=$1 arch=$2 archive=$3 suite=$4

apt() {
	apt-get -q -o "Dir::State=$PWD/state" -o Dir::State::status=/dev/null \
		-o "Dir::Cache=$PWD/cache" -o "Dir::Etc::SourceList=$PWD/sources.list" \
		-o Dir::Etc::SourceParts=- -o Dir::Etc::PreferencesParts=- \
		-o "APT::Architecture=$arch" -o "APT::Architectures=$arch" \
		-o Acquire::Languages=none -o Acquire::Retries=1 \
		-o Acquire::http::Timeout=30 -o APT::Sandbox::User=root "$@"
}

mkdir -p state/lists/partial cache/archives/partial
echo "deb [check-valid-until=no ${5:-}] $archive $suite main" >sources.list
apt --error-on=any update
apt download "$package"
