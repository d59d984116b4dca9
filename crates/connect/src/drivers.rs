//! The same settings as each of the two drivers takes them.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgSslMode};

use crate::host::Host;
use crate::settings::ConnectionSettings;
use crate::startup_options;

impl ConnectionSettings {
    /// For tokio-postgres. Its TLS parameter is `NoTls`: what needs TLS was refused before.
    pub fn tokio_postgres(&self) -> tokio_postgres::Config {
        let mut config = tokio_postgres::Config::new();
        config
            .port(self.port())
            .user(self.user())
            .dbname(self.database())
            .application_name(self.application_name())
            .ssl_mode(tokio_postgres::config::SslMode::Disable);
        match self.host() {
            Host::Tcp(name) => {
                // A peer that vanished is noticed within a minute or so.
                config
                    .host(name)
                    .keepalives_idle(Duration::from_secs(30))
                    .keepalives_interval(Duration::from_secs(10))
                    .keepalives_retries(3);
            }
            Host::Socket(dir) => {
                config.host_path(dir);
            }
        }
        if let Some(password) = self.password() {
            config.password(password.expose());
        }
        if let Some(limit) = self.connect_timeout() {
            config.connect_timeout(limit);
        }
        if !self.options().is_empty() {
            config.options(startup_options::render(self.options()));
        }
        config
    }

    /// For sqlx. Mind that the `Debug` of sqlx's own type shows the password.
    ///
    /// sqlx sets `TimeZone` to UTC and `DateStyle` to ISO in each session, over any option given
    /// here; and it starts from this process's `PGOPTIONS` whatever it is told, where a setting of the same
    /// name given here wins.
    pub fn sqlx(&self) -> PgConnectOptions {
        let options = PgConnectOptions::new_without_pgpass()
            .port(self.port())
            .username(self.user())
            .database(self.database())
            .password(self.password().map_or("", |p| p.expose().as_str()))
            .application_name(self.application_name())
            .ssl_mode(PgSslMode::Disable)
            .extra_float_digits(None)
            .options(self.options().iter().map(|(name, value)| (name.as_str(), value.as_str())));
        match self.host() {
            Host::Tcp(name) => options.host(name),
            Host::Socket(dir) => options.socket(dir),
        }
    }
}
